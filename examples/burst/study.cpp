// SPDX-License-Identifier: Apache-2.0
#include "study.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

namespace burst {
namespace {

/// One line that is rewritten on a terminal; elsewhere a plain line every tenth.
class Progress {
 public:
  explicit Progress(int total) : total_(total), terminal_(isatty(STDERR_FILENO) != 0) {}

  void advance() {
    std::lock_guard lock(mutex_);
    ++done_;
    if (terminal_) std::fprintf(stderr, "\rrun %d of %d%s", done_, total_, done_ == total_ ? "\n" : "");
    else if (done_ * 10 / total_ != (done_ - 1) * 10 / total_) std::fprintf(stderr, "run %d of %d\n", done_, total_);
  }

 private:
  std::mutex mutex_;
  int done_ = 0, total_;
  bool terminal_;
};

void run_seed(Study& study, int seed, bool bursts, Progress& progress) {
  const Problem problem(seed + 1, study.steps);
  auto record = [&](int method, const trasmuon::Options& options) {
    study.traces[bursts][method][seed] = run(problem, options, study.steps, bursts);
    progress.advance();
  };
  for (int method = 0; method < kMethodCount; ++method) {
    if (method != kUniform) record(method, study.methods[method].options);
  }
  record(kUniform, uniform_control(study.traces[bursts][kClipSf][seed]));
}

}  // namespace

Study run_study(int seeds, int steps) {
  Study study{seeds, steps, methods(), {}};
  for (auto& by_method : study.traces) by_method.assign(kMethodCount, std::vector<Trace>(seeds));
  // The matrices are small: one thread per run is faster than several threads in each.
  trasmuon::set_num_threads(1);

  const Problem pilot(0, steps);  // a seed of its own
  for (Method& method : study.methods) {
    if (method.fit_lr) method.options = fit_lr(pilot, method.options, steps);
  }

  Progress progress(2 * seeds * kMethodCount);
  std::atomic<int> next = 0;
  auto work = [&] {
    for (int job = next++; job < 2 * seeds; job = next++) {
      run_seed(study, job / 2, job % 2 == 0, progress);
    }
  };
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    workers.push_back(std::async(std::launch::async, work));
  }
  for (auto& worker : workers) worker.get();
  return study;
}

}  // namespace burst
