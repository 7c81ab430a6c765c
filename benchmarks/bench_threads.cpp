// SPDX-License-Identifier: Apache-2.0
//
// Predicts how a step over GPT-2 small's matrices scales with threads, on a machine that has fewer: it carries out the
// tasks of every parallel region one after the other, takes their CPU time, and hands them out to P threads as the
// pool would. It knows nothing of shared caches, memory bandwidth and clock frequencies; the time of opening and
// closing a region is an argument.
//
//     bench_threads [--bf16] [--layers N] [--steps N] [--region MICROSECONDS]
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "trasmuon/optimizer.h"
#include "trasmuon/threads.h"
#include "workload.h"

namespace trasmuon::bench {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Region = std::vector<double>;  ///< seconds of its tasks

// Of the step that runs now.
std::vector<Region> regions;
double serial = 0;    ///< seconds outside of them
double left_at = 0;   ///< when the last one ended
bool inside = false;  ///< whether one runs

/// The time of a region on `threads` threads that take tasks one by one.
double makespan(const Region& tasks, int threads) {
  std::vector<double> busy(static_cast<std::size_t>(threads), 0.0);
  for (const double task : tasks) *std::min_element(busy.begin(), busy.end()) += task;
  return *std::max_element(busy.begin(), busy.end());
}

struct Step {
  std::vector<Region> regions;
  double serial = 0;  ///< outside of them
};

/// The least of several steps, task by task.
Step measure(Optimizer& optimizer, MatrixSet& gradients, int steps) {
  Step least;
  optimizer.step(gradients.views());
  for (int step = 0; step < steps; ++step) {
    regions.clear();
    serial = 0;
    left_at = cpu_seconds();
    optimizer.step(gradients.views());
    serial += cpu_seconds() - left_at;
    if (step == 0) {
      least = {regions, serial};
      continue;
    }
    least.serial = std::min(least.serial, serial);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      for (std::size_t k = 0; k < regions[i].size(); ++k) {
        least.regions[i][k] = std::min(least.regions[i][k], regions[i][k]);
      }
    }
  }
  return least;
}

void predict(const Step& step, int threads, double region_seconds) {
  double work = step.serial, split = 0;
  for (const Region& region : step.regions) {
    for (const double task : region) work += task;
    split += makespan(region, threads);
  }
  const double opening = region_seconds * static_cast<double>(step.regions.size());
  const double total = step.serial + split + opening, ideal = work / threads;
  const auto share = [&](double seconds) { return 100 * seconds / total; };
  std::printf(
      "%2d threads: efficiency %3.0f %%; of the time %4.1f %% idle at the end of regions, %4.1f %% opening %zu "
      "regions, %4.1f %% on one thread\n",
      threads, 100 * ideal / total, share(split - (work - step.serial) / threads), share(opening), step.regions.size(),
      share(step.serial));
}

}  // namespace

int run(int argc, char** argv) {
  int layers = 1, steps = 3;
  double region = 3;
  bool bf16 = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (flag == "--bf16") bf16 = true;
    else if (value != nullptr && flag == "--layers") layers = std::atoi(argv[++i]);
    else if (value != nullptr && flag == "--steps") steps = std::atoi(argv[++i]);
    else if (value != nullptr && flag == "--region") region = std::atof(argv[++i]);
    else return std::fprintf(stderr, "bench_threads: unknown argument '%s'\n", argv[i]), 2;
  }
  MatrixSet weights(gpt2_small(layers)), gradients(gpt2_small(layers));
  weights.fill(0.02, 1);
  gradients.fill(0.01, 2);
  for (const int threads : {5, 8, 12, 16}) {  // up to 4 threads each steps whole matrices
    set_num_threads(threads);
    TrasMuonOptions options;
    if (bf16) options.ns_precision = NewtonSchulzPrecision::bf16;
    Group group{options, {}};
    for (const TensorView& weight : weights.views()) {
      group.parameters.push_back({.name = "w" + std::to_string(group.parameters.size()), .weight = weight});
    }
    Optimizer optimizer({std::move(group)});
    predict(measure(optimizer, gradients, steps), threads, 1e-6 * region);
  }
  return 0;
}

}  // namespace trasmuon::bench

// Takes the place of cpu::parallel_for: the linker is told so (--wrap in CMakeLists.txt).
extern "C" void __wrap__ZN8trasmuon3cpu12parallel_forElPFvPvlES1_(std::int64_t count, void (*body)(void*, std::int64_t),
                                                                  void* context) {
  using namespace trasmuon::bench;
  if (inside || count < 2) {
    for (std::int64_t i = 0; i < count; ++i) body(context, i);
    return;
  }
  inside = true;
  serial += cpu_seconds() - left_at;
  Region region;
  for (std::int64_t i = 0; i < count; ++i) {
    const double start = cpu_seconds();
    body(context, i);
    region.push_back(cpu_seconds() - start);
  }
  regions.push_back(std::move(region));
  inside = false;
  left_at = cpu_seconds();
}

int main(int argc, char** argv) { return trasmuon::bench::run(argc, argv); }
