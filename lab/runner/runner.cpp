// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/runner.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "lab/records/files.h"
#include "lab/records/machine.h"
#include "lab/runner/execute.h"
#include "lab/runner/folder_lock.h"
#include "lab/runner/progress.h"
#include "lab/runner/run_process.h"
#include "lab/runner/run_times.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The signals that we wait for, held back while this lives so that none is lost between two waits.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&held_, signal);
    ::sigprocmask(SIG_BLOCK, &held_, &before_);
    child_ = ::signal(SIGCHLD, SIG_DFL);
  }
  ~HeldSignals() {
    ::signal(SIGCHLD, child_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// The one that came, or 0 after a while.
  int wait() const {
    const timespec while_{.tv_sec = 0, .tv_nsec = 200'000'000};
    const int signal = ::sigtimedwait(&held_, nullptr, &while_);
    return std::max(signal, 0);
  }

 private:
  sigset_t held_, before_;
  void (*child_)(int);
};

/// Numbers that forked processes write and we read.
class SharedFractions {
 public:
  explicit SharedFractions(std::size_t count) : bytes_(count * sizeof(std::atomic<double>)) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedFractions() { ::munmap(memory_, bytes_); }
  SharedFractions(const SharedFractions&) = delete;
  SharedFractions& operator=(const SharedFractions&) = delete;

  std::atomic<double>& operator[](std::size_t i) { return static_cast<std::atomic<double>*>(memory_)[i]; }

 private:
  static_assert(std::atomic<double>::is_always_lock_free);
  std::size_t bytes_;
  void* memory_;
};

struct Task {
  RunSpec spec;
  std::string id, kind;
};

/// The processes at work.
class Pool {
 public:
  Pool(fs::path runs, std::size_t jobs) : runs_(std::move(runs)), slots_(jobs), fractions_(jobs) {}
  ~Pool() {
    for (Slot& slot : slots_) {
      if (slot.process == 0) continue;
      ::kill(slot.process, SIGKILL);
      ::waitpid(slot.process, nullptr, 0);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool has_room() const { return at_work() < slots_.size(); }
  std::size_t at_work() const {
    return static_cast<std::size_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.process != 0; }));
  }

  void start(const Task& task) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.process == 0; });
    std::atomic<double>& fraction = fractions_[static_cast<std::size_t>(slot - slots_.begin())];
    slot->process = start_run(task.spec, runs_ / task.id, fraction);
    slot->task = &task;
    slot->start = Clock::now();
  }

  /// Calls ended(task, end, seconds) for every process that is over.
  template <class Ended>
  void collect(Ended ended) {
    for (Slot& slot : slots_) {
      int status = 0;
      if (slot.process == 0 || ::waitpid(slot.process, &status, WNOHANG) == 0) continue;
      slot.process = 0;
      ended(*slot.task, end_of_run(status, runs_ / slot.task->id), seconds_since(slot.start));
    }
  }

  std::vector<RunTimes::Running> running() {
    std::vector<RunTimes::Running> list;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].process == 0) continue;
      list.push_back(
          {slots_[i].task->kind, seconds_since(slots_[i].start), std::clamp(fractions_[i].load(), 0.0, 1.0)});
    }
    return list;
  }

 private:
  struct Slot {
    pid_t process = 0;
    const Task* task = nullptr;
    Clock::time_point start;
  };
  fs::path runs_;
  std::vector<Slot> slots_;
  SharedFractions fractions_;
};

/// What is still to be made. All kinds of runs come early, seed by seed: then a report on a part of the plan shows
/// every cell, and the estimate of the time left is good.
std::vector<Task> open_tasks(const Plan& plan, const fs::path& runs, Outcome& outcome) {
  std::vector<Task> tasks;
  std::set<std::string> seen;
  for (const PlannedRun& run : plan.runs) {
    std::string id = run_id(run.spec);
    if (!seen.insert(id).second) continue;
    ++outcome.planned;
    if (is_finished(runs / id)) {
      ++outcome.before;
      continue;
    }
    RunSpec kind = run.spec;
    kind.seed = 0;
    tasks.push_back({run.spec, std::move(id), run_id(kind)});
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.spec.seed < b.spec.seed; });
  return tasks;
}

void work(const std::vector<Task>& tasks, const RunnerOptions& options, std::size_t jobs, Outcome& outcome) {
  const HeldSignals signals;
  Progress progress(options.console, options.terminal, outcome.planned, outcome.before);
  RunTimes times;
  for (const Task& task : tasks) times.expect(task.kind);
  Pool pool(options.out / "runs", jobs);
  const auto show = [&] {
    const std::vector<RunTimes::Running> running = pool.running();
    double in_flight = 0;
    for (const RunTimes::Running& run : running) in_flight += run.fraction;
    progress.update(outcome.before + outcome.finished + outcome.failed, running.size(), in_flight,
                    times.remaining(running, static_cast<int>(jobs)));
  };
  auto next = tasks.begin();
  while (outcome.trouble.empty() && (next != tasks.end() || pool.at_work() > 0)) {
    for (; next != tasks.end() && pool.has_room(); ++next) {
      pool.start(*next);
      times.start(next->kind);
    }
    show();
    const int signal = signals.wait();
    if (signal != 0 && signal != SIGCHLD) {
      outcome.signal = signal;
      return;
    }
    pool.collect([&](const Task& task, const RunEnd& end, double seconds) {
      if (end.cannot_write) {
        outcome.trouble = end.message;
      } else if (end.finished) {
        ++outcome.finished;
        times.finish(task.kind, seconds);
      } else {
        ++outcome.failed;
        progress.message(task.id + " failed: " + end.message);
      }
    });
  }
  show();
}

}  // namespace

Outcome run_plan(const Plan& plan, const RunnerOptions& options) {
  std::error_code error;
  fs::create_directories(options.out / "runs", error);
  if (error) throw WriteError(options.out / "runs", error.value());
  const FolderLock lock(options.out);
  write_plan(plan, options.out, options.command);

  Outcome outcome;
  const std::vector<Task> tasks = open_tasks(plan, options.out / "runs", outcome);
  if (tasks.empty()) return outcome;
  const auto jobs = static_cast<std::size_t>(options.jobs > 0 ? options.jobs : usable_cores());
  work(tasks, options, std::min(jobs, tasks.size()), outcome);
  return outcome;
}

}  // namespace trasmuon::lab
