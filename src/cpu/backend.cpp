// SPDX-License-Identifier: Apache-2.0
#include "stages/backend.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/step.h"
#include "cpu/thread_pool.h"
#include "trasmuon/error.h"
#include "trasmuon/threads.h"

namespace trasmuon {
namespace cpu {
namespace {

// Up to this many elements a matrix is too small to occupy several threads.
constexpr std::int64_t kSmall = std::int64_t{256} * 256;
// Matrices stepped at the same time, each with its own workspace: this bounds the scratch memory.
constexpr int kMostAtOnce = 4;

/// Steps one matrix per thread where that keeps all threads busy: then no thread waits for another within a step.
/// Otherwise all threads share one matrix after the other.
class CpuBackend final : public Backend {
 public:
  void prepare(std::span<Matrix> matrices, const Plan& plan, void*) override {
    (void)kernel_table();                       // chosen at first use, which may fail
    parallel_for(2, [](std::int64_t, int) {});  // so may starting the threads
    const Schedule schedule = schedule_of(matrices);
    if (workspaces_.size() < schedule.lanes) workspaces_.resize(schedule.lanes);
    one_per_thread_.reserve(matrices.size());
    WorkspaceBytes shared, alone;
    for (const Matrix& x : matrices) (schedule.shares(x) ? shared : alone).include(cpu::workspace_bytes(plan, x));
    workspaces_[0].reserve(shared);
    for (std::size_t lane = 0; lane < schedule.lanes; ++lane) workspaces_[lane].reserve(alone);
  }

  void run(std::span<Matrix> matrices, const Plan& plan, void*) override {
    const Schedule schedule = schedule_of(matrices);
    one_per_thread_.clear();
    for (Matrix& x : matrices) {
      if (schedule.shares(x)) step(plan, x, workspaces_[0]);
      else one_per_thread_.push_back(&x);
    }
    // Most expensive first, so that the threads finish together.
    std::sort(one_per_thread_.begin(), one_per_thread_.end(),
              [](const Matrix* a, const Matrix* b) { return cost(*a) != cost(*b) ? cost(*a) > cost(*b) : a < b; });
    std::atomic<std::size_t> next = 0;
    // The number of threads may have changed since prepare().
    parallel_for(std::min(std::ssize(workspaces_), static_cast<std::ptrdiff_t>(schedule.lanes)),
                 [&](std::int64_t lane, int) {
                   for (std::size_t i = next++; i < one_per_thread_.size(); i = next++)
                     step(plan, *one_per_thread_[i], workspaces_[static_cast<std::size_t>(lane)]);
                 });
  }

  void orthogonalize(std::span<const MatrixView> in, std::span<const MatrixView> out, const OrthogonalizeStage& stage,
                     void*) override {
    for (std::size_t i = 0; i < in.size(); ++i) cpu::orthogonalize(in[i], out[i], stage, workspaces_[0]);
  }

  // There are no captured steps, and the step itself fills in the diagnostics.
  void check_recorded(std::span<Matrix>, const Plan&, void*) override {}
  void refresh_recorded(std::span<Matrix>, const Plan&, void*) override {}
  void diagnose(std::span<Matrix>, std::size_t, std::size_t) override {}

  void check(const Options& options) const override {
    std::visit(
        [&]<class O>(const O& o) {
          if constexpr (requires { o.ns_precision; }) {
            using enum NewtonSchulzPrecision;
            if (o.ns_precision == automatic || o.ns_precision == f32 || o.ns_precision == bf16) return;
            throw Error(std::string(rule_name(options)) +
                        ": ns_precision must be automatic, f32 or bf16 on the CPU, got '" +
                        get_field(options, "ns_precision") + "'");
          }
        },
        options);
  }

  void* allocate(std::size_t bytes) override { return ::operator new(bytes, kAlignment); }
  void release(void* memory) override { ::operator delete(memory, kAlignment); }
  void read(const void* from, void* host, std::size_t bytes) override { std::memcpy(host, from, bytes); }
  void write(const void* host, void* to, std::size_t bytes) override { std::memcpy(to, host, bytes); }

  std::size_t workspace_bytes() const override {
    std::size_t bytes = 0;
    for (const Workspace& workspace : workspaces_) bytes += workspace.bytes();
    return bytes;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static bool is_large(const Matrix& x) { return x.m * x.n > kSmall; }
  static double cost(const Matrix& x) {
    return static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(std::min(x.m, x.n));
  }

  /// Which matrices all threads share, and in how many lanes the others are stepped, each lane with a workspace.
  struct Schedule {
    bool share_large;
    std::size_t lanes;
    bool shares(const Matrix& x) const { return share_large && is_large(x); }
  };
  Schedule schedule_of(std::span<const Matrix> matrices) const {
    const int threads = num_threads();
    const auto large = std::count_if(matrices.begin(), matrices.end(), is_large);
    const bool share = threads > kMostAtOnce || large < threads;
    const auto alone = static_cast<std::size_t>(std::ssize(matrices) - (share ? large : 0));
    return {share, std::clamp<std::size_t>(alone, 1, static_cast<std::size_t>(threads))};
  }

  std::vector<Workspace> workspaces_{1};  ///< one per lane
  std::vector<Matrix*> one_per_thread_;   ///< of the list that is run; kept for its capacity
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace trasmuon
