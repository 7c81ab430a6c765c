// SPDX-License-Identifier: Apache-2.0
#include "stages/backend.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cpu/stages.h"
#include "cpu/thread_pool.h"
#include "trasmuon/error.h"
#include "trasmuon/threads.h"

namespace trasmuon {
namespace cpu {
namespace {

// Up to here a matrix is too small to occupy several threads.
constexpr std::int64_t kSmall = std::int64_t{256} * 256;
// Matrices stepped at the same time, each with its own scratch: what bounds the workspace.
constexpr int kMostAtOnce = 4;

/// Steps one matrix per thread where that keeps all threads busy: no thread then waits for
/// another within a step. Otherwise all threads share one matrix after the other.
class CpuBackend final : public Backend {
 public:
  void run(std::span<Matrix> matrices, const Step& step, void*) override {
    const int threads = num_threads();
    while (lanes_.size() < static_cast<std::size_t>(threads)) lanes_.push_back(std::make_unique<CpuStages>());
    const auto large = std::count_if(matrices.begin(), matrices.end(), is_large);
    const bool share = threads > kMostAtOnce || large < threads;

    std::vector<Matrix*> one_per_thread;
    for (Matrix& x : matrices) {
      if (is_large(x) && share) step(*lanes_[0], {&x, 1});
      else one_per_thread.push_back(&x);
    }
    // The dearest first, so that the threads finish together.
    std::stable_sort(one_per_thread.begin(), one_per_thread.end(),
                     [](const Matrix* a, const Matrix* b) { return cost(*a) > cost(*b); });
    parallel_for(static_cast<std::int64_t>(one_per_thread.size()), [&](std::int64_t index, int worker) {
      step(*lanes_[static_cast<std::size_t>(worker)], {one_per_thread[static_cast<std::size_t>(index)], 1});
    });
  }

  void orthogonalize(std::span<const MatrixView> in, std::span<const MatrixView> out, const OrthogonalizeStage& stage,
                     void*) override {
    for (std::size_t i = 0; i < in.size(); ++i) lanes_[0]->orthogonalize(in[i], out[i], stage);
  }

  void check_recorded(std::span<Matrix>, const Step&, void*) override {}  // there are none
  void refresh_recorded(std::span<Matrix>, const Step&, void*) override {}
  void diagnose(std::span<Matrix>, std::size_t, std::size_t) override {}  // filled by the step

  void check(const Options& options) const override {
    std::visit(
        [&]<class O>(const O& o) {
          if constexpr (requires { o.ns_precision; }) {
            using enum NewtonSchulzPrecision;
            if (o.ns_precision == automatic || o.ns_precision == f32) return;
            throw Error(std::string(rule_name(options)) + ": ns_precision must be automatic or f32 on the CPU, got '" +
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
    for (const auto& lane : lanes_) bytes += lane->workspace_bytes();
    return bytes;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static bool is_large(const Matrix& x) { return x.m * x.n > kSmall; }
  static double cost(const Matrix& x) {
    return static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(std::min(x.m, x.n));
  }

  std::vector<std::unique_ptr<CpuStages>> lanes_ = [] {
    std::vector<std::unique_ptr<CpuStages>> lanes;
    lanes.push_back(std::make_unique<CpuStages>());
    return lanes;
  }();
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace trasmuon
