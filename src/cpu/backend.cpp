// SPDX-License-Identifier: Apache-2.0
#include "stages/backend.h"

#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "cpu/cut_step.h"
#include "cpu/kernels.h"
#include "cpu/lanes.h"
#include "cpu/step.h"
#include "cpu/thread_pool.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace cpu {
namespace {

auto sizes_of(std::span<const Matrix> matrices) {
  return [matrices](std::size_t i) { return MatrixSize{matrices[i].m, matrices[i].n}; };
}
/// An owner has the whole matrix.
auto sizes_of(const CutStep& step, CutPhase phase) {
  return [&step, phase](std::size_t i) {
    const CutMatrix& x = step.matrices[i];
    if (phase != CutPhase::orthogonalize) return MatrixSize{x.rows->m, x.n()};
    return x.owned ? MatrixSize{x.m(), x.n()} : MatrixSize{};
  };
}

class CpuBackend final : public Backend {
 public:
  void prepare(std::span<Matrix> matrices, const Plan& plan, void*) override {
    start();
    lanes_.prepare(matrices.size(), sizes_of(matrices),
                   [&](std::size_t i) { return cpu::workspace_bytes(plan, matrices[i]); });
  }
  void run(std::span<Matrix> matrices, const Plan& plan, void*) override {
    lanes_.run(matrices.size(), sizes_of(matrices),
               [&](std::size_t i, Workspace& workspace) { step(plan, matrices[i], workspace); });
  }

  void prepare_cut(CutStep& step, void*) override {
    start();
    for (const CutPhase phase : {CutPhase::momentum, CutPhase::orthogonalize}) {
      lanes_.prepare(step.matrices.size(), sizes_of(step, phase),
                     [&](std::size_t i) { return cpu::workspace_bytes(phase, step.matrices[i]); });
    }
  }
  void run_cut(CutPhase phase, CutStep& step, void*) override {
    lanes_.run(step.matrices.size(), sizes_of(step, phase), [&](std::size_t i, Workspace& workspace) {
      run_phase(phase, step.matrices[i], step.buffers, workspace);
    });
  }

  void orthogonalize(std::span<const MatrixView> in, std::span<const MatrixView> out, const OrthogonalizeStage& stage,
                     void*) override {
    for (std::size_t i = 0; i < in.size(); ++i) cpu::orthogonalize(in[i], out[i], stage, lanes_.first());
  }

  // There are no captured steps, and the step itself fills in the diagnostics.
  void check_recorded(std::span<Matrix>, const Plan&, void*) override {}
  void refresh_recorded(std::span<Matrix>, const Plan&, void*) override {}
  void diagnose(std::span<Matrix>, std::size_t, std::size_t) override {}

  void check(const Options& options) const override {
    std::visit(
        [&]<class O>(const O& o) {
          if constexpr (requires { o.ns_precision; })
            check_precision(o.ns_precision, std::string(rule_name(options)) + ": ns_precision");
        },
        options);
  }
  void check_precision(NewtonSchulzPrecision precision, const std::string& field) const override {
    using enum NewtonSchulzPrecision;
    if (precision == automatic || precision == f32 || precision == bf16) return;
    throw Error(field + " must be automatic, f32 or bf16 on the CPU, got '" +
                get_field(MuonOptions{.ns_precision = precision}, "ns_precision") + "'");
  }

  void* allocate(std::size_t bytes) override { return ::operator new(bytes, kAlignment); }
  void release(void* memory) override { ::operator delete(memory, kAlignment); }
  void read(const void* from, void* host, std::size_t bytes) override { std::memcpy(host, from, bytes); }
  void write(const void* host, void* to, std::size_t bytes) override { std::memcpy(to, host, bytes); }

  std::size_t workspace_bytes() const override { return lanes_.bytes(); }

 private:
  static constexpr std::align_val_t kAlignment{64};

  /// What happens at first use and may fail.
  static void start() {
    (void)kernel_table();
    parallel_for(2, [](std::int64_t) {});
  }

  Lanes lanes_;
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace trasmuon
