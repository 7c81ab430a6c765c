// SPDX-License-Identifier: Apache-2.0
//
// The parts of a step on their own: products, Newton-Schulz, the passes over a matrix,
// and whole steps over many small matrices. TRASMUON_NUM_THREADS and TRASMUON_ISA apply.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/newton_schulz/bf16_newton_schulz.h"
#include "cpu/newton_schulz/newton_schulz.h"
#include "cpu/products/bf16_product.h"
#include "cpu/products/gemm.h"
#include "cpu/thread_pool.h"
#include "operations.h"
#include "peak.h"
#include "stage_matrices.h"
#include "trasmuon/optimizer.h"
#include "trasmuon/threads.h"
#include "workload.h"

namespace trasmuon::bench {
namespace {

using benchmark::Counter;
using benchmark::State;

void count_operations(State& state, double operations) {
  state.counters["FLOP/s"] = Counter(operations, Counter::kIsIterationInvariantRate);
}

void count_bytes(State& state, double bytes) {
  state.counters["bytes/s"] = Counter(bytes, Counter::kIsIterationInvariantRate);
}

std::string shape_name(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + "x" + std::to_string(cols);
}

std::vector<float> random_values(std::int64_t rows, std::int64_t cols, std::uint64_t seed = 1) {
  MatrixSet set(std::vector<NamedMatrix>{{"", rows, cols}});
  set.fill(1, seed);
  const auto values = set.values(0);
  return {values.begin(), values.end()};
}

/// C (m x n) = A (m x k) B; symmetric: C = A A^T with half of it computed.
void multiply(State& state, std::int64_t m, std::int64_t n, std::int64_t k, bool symmetric) {
  const std::vector<float> a = random_values(m, k, 1), b = random_values(k, n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n)),
      scratch(static_cast<std::size_t>(cpu::multiply_scratch<float>(m, n, k)));
  const cpu::Operand<float> left{a.data(), k, 1};
  const cpu::Operand<float> right = symmetric ? left.transpose() : cpu::Operand<float>{b.data(), n, 1};
  for (auto _ : state) {
    cpu::multiply<float>(
        {.m = m, .n = n, .k = k, .a = left, .b = right, .c = c.data(), .ldc = n, .symmetric = symmetric},
        scratch.data());
    benchmark::ClobberMemory();
  }
  count_operations(state,
                   (symmetric ? 1.0 : 2.0) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

/// The same in bf16, the result rounded or, with `unrounded`, in f32.
void multiply_bf16(State& state, std::int64_t m, std::int64_t n, std::int64_t k, bool symmetric, bool unrounded) {
  std::vector<float> a = random_values(m, k, 1), b = random_values(k, n, 2), c(static_cast<std::size_t>(m * n));
  cpu::Scratch scratch;
  struct Matrices {
    cpu::BlockMatrix a, b, c;
    cpu::Bf16Pair* packed;
  };
  const Matrices blocks = scratch.lay_out([&](Arena& arena) {
    const std::int64_t rows = cpu::block_count(m), cols = cpu::block_count(n), depth = cpu::block_count(k);
    return Matrices{{rows, depth, arena},
                    {depth, cols, arena},
                    {rows, cols, arena},
                    arena.take<cpu::Bf16Pair>(cpu::multiply_scratch(cols, depth))};
  });
  cpu::load_blocks({a.data(), DType::f32, m, k, k}, 1, false, blocks.a);
  cpu::load_blocks({b.data(), DType::f32, k, n, n}, 1, false, blocks.b);
  cpu::BlockProduct product{.a = blocks.a,
                            .b = symmetric ? blocks.a : blocks.b,
                            .transpose_b = symmetric,
                            .out = blocks.c,
                            .symmetric = symmetric};
  if (unrounded) product.unrounded = {c.data(), DType::f32, m, n, n};
  for (auto _ : state) {
    cpu::multiply(product, blocks.packed);
    benchmark::ClobberMemory();
  }
  count_operations(state,
                   (symmetric ? 1.0 : 2.0) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

/// FLOP/s in operations done; "standard FLOP/s" in those of the dense algorithm.
void newton_schulz(State& state, std::int64_t rows, std::int64_t cols, NewtonSchulzForm form,
                   DType iterates = DType::f32) {
  constexpr int kSteps = 5;
  std::vector<float> in = random_values(rows, cols);
  const MatrixView matrix{in.data(), DType::f32, rows, cols, cols};
  const std::vector<NewtonSchulzTriple> triples = newton_schulz_triples("keller", kSteps);
  std::vector<float> out(in.size());
  cpu::Scratch scratch;
  const double scale = 1 / std::sqrt(static_cast<double>(in.size()));  // 1 / ||X||_F, as the entries have variance 1
  for (auto _ : state) {
    if (iterates == DType::bf16) cpu::bf16_newton_schulz(matrix, scale, triples, form, out.data(), scratch);
    else cpu::newton_schulz<float>(matrix, scale, triples, form, out.data(), scratch);
    benchmark::ClobberMemory();
  }
  count_operations(state, our_operations(rows, cols, kSteps, form, iterates));
  state.counters["standard FLOP/s"] =
      Counter(standard_operations(rows, cols, kSteps), Counter::kIsIterationInvariantRate);
}

/// One stage of the step; `bytes` per element that it must at least read and write.
template <class Stage>
void stage(State& state, std::int64_t rows, std::int64_t cols, double bytes, Stage&& run) {
  StageMatrices matrices(rows, cols);
  for (auto _ : state) run(matrices.next(), matrices.plan(), matrices.scratch());
  count_bytes(state, bytes * static_cast<double>(matrices.elements()));
}

/// The ceiling of the passes: copying memory with the same threads.
void copy(State& state) {
  constexpr std::size_t kChunk = 1 << 20, kChunks = 128;
  const std::vector<char> from(kChunk * kChunks, 1);
  std::vector<char> to(from.size());
  for (auto _ : state) {
    cpu::parallel_for(kChunks, [&](std::int64_t chunk) {
      std::memcpy(to.data() + static_cast<std::size_t>(chunk) * kChunk,
                  from.data() + static_cast<std::size_t>(chunk) * kChunk, kChunk);
    });
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2.0 * static_cast<double>(from.size()));
}

/// Whole steps over many matrices, each too small to keep all threads busy.
void many_small(State& state, int count, std::int64_t rows, std::int64_t cols, std::int64_t blocks) {
  const std::vector<NamedMatrix> matrices(static_cast<std::size_t>(count), {"", rows, cols});
  MatrixSet weights(matrices), gradients(matrices);
  weights.fill(0.02, 1);
  gradients.fill(0.01, 2);
  Group group{TrasMuonOptions{}, {}};
  for (const TensorView& weight : weights.views()) {
    group.parameters.push_back({.name = "w" + std::to_string(group.parameters.size()),
                                .weight = weight,
                                .row_blocks = equal_blocks(rows, blocks)});
  }
  Optimizer optimizer({std::move(group)});
  for (auto _ : state) optimizer.step(gradients.views());
  count_operations(state,
                   count * static_cast<double>(blocks) *
                       our_operations(rows / blocks, cols, TrasMuonOptions{}.ns_steps, NewtonSchulzForm::automatic));
}

void add(const std::string& name, std::function<void(State&)> run) {
  benchmark::RegisterBenchmark(name.c_str(), std::move(run))->UseRealTime()->Unit(benchmark::kMillisecond);
}

/// One thread.
void peak(State& state, double (*operations)()) {
  double count = 0;
  for (auto _ : state) count = operations();
  count_operations(state, count);
}

void add_peaks() {
  if (f32_peak_operations() > 0) add("peak/f32", [](State& s) { peak(s, f32_peak_operations); });
  if (bf16_peak_operations() > 0) add("peak/bf16", [](State& s) { peak(s, bf16_peak_operations); });
}

void add_products() {
  for (std::int64_t size : {128, 256, 768, 1536}) {
    add("multiply/full/" + std::to_string(size), [=](State& s) { multiply(s, size, size, size, false); });
    add("multiply/symmetric/" + std::to_string(size), [=](State& s) { multiply(s, size, size, size, true); });
  }
  add("multiply/full/768x3072x768", [](State& s) { multiply(s, 768, 3072, 768, false); });
  add("multiply/symmetric/768x768x3072", [](State& s) { multiply(s, 768, 768, 3072, true); });
  for (std::int64_t size : {64, 768}) {
    const std::string name = std::to_string(size);
    add("multiply_bf16/full/" + name, [=](State& s) { multiply_bf16(s, size, size, size, false, false); });
    add("multiply_bf16/symmetric/" + name, [=](State& s) { multiply_bf16(s, size, size, size, true, false); });
  }
  add("multiply_bf16/full/768x3072x768", [](State& s) { multiply_bf16(s, 768, 3072, 768, false, false); });
  add("multiply_bf16/unrounded/768x3072x768", [](State& s) { multiply_bf16(s, 768, 3072, 768, false, true); });
  add("multiply_bf16/symmetric/768x768x3072", [](State& s) { multiply_bf16(s, 768, 768, 3072, true, false); });
}

void add_newton_schulz() {
  for (const auto& [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>{64, 64}, {64, 1024}, {768, 768}, {768, 3072}, {3072, 768}}) {
    for (const DType iterates : {DType::f32, DType::bf16}) {
      add(std::string("newton_schulz/") + to_string(iterates) + "/" + shape_name(rows, cols),
          [=](State& s) { newton_schulz(s, rows, cols, NewtonSchulzForm::automatic, iterates); });
    }
  }
  for (std::int64_t aspect : {1, 2, 3, 4, 8}) {
    const std::string shape = shape_name(768, 768 * aspect);
    add("newton_schulz/standard/" + shape,
        [=](State& s) { newton_schulz(s, 768, 768 * aspect, NewtonSchulzForm::standard); });
    add("newton_schulz/gram/" + shape, [=](State& s) { newton_schulz(s, 768, 768 * aspect, NewtonSchulzForm::gram); });
  }
  add("newton_schulz/automatic/3072x768", [](State& s) { newton_schulz(s, 3072, 768, NewtonSchulzForm::automatic); });
}

void add_stages() {
  add("copy", copy);
  for (auto [rows, cols] : {std::pair<std::int64_t, std::int64_t>{3072, 768}, {768, 3072}}) {
    const std::int64_t m = rows, n = cols;
    const auto add_stage = [m, n](const char* name, double bytes, auto run) {
      add("stage/" + std::string(name) + "/" + shape_name(m, n), [=](State& s) { stage(s, m, n, bytes, run); });
    };
    using X = SteppedMatrix;
    using P = MuonPipeline;
    add_stage("admit", 4, [](X& x, const P& p, cpu::Scratch&) { cpu::admit<float>(x.matrix, p.skip_nonfinite); });
    add_stage("momentum", 12, [](X& x, const P& p, cpu::Scratch& scratch) {
      cpu::momentum(x.matrix, p.momentum, x.intermediates, scratch);
    });
    add_stage("orthogonalize", 8, [](X& x, const P& p, cpu::Scratch& scratch) {
      cpu::orthogonalize(*p.orthogonalize, x.intermediates, scratch);
    });
    add_stage("row_scale", 4, [](X& x, const P& p, cpu::Scratch& scratch) {
      cpu::row_scale(x.matrix, *p.row_scale, x.intermediates, scratch);
    });
    add_stage("trust_region", 0,
              [](X& x, const P& p, cpu::Scratch&) { cpu::trust_region(x.matrix, *p.trust_region, x.intermediates); });
    add_stage("apply", 12, [](X& x, const P& p, cpu::Scratch& scratch) {
      cpu::apply(x.matrix, 1 - p.lr * p.weight_decay, x.intermediates, scratch);
    });
  }
}

void add_many_small() {
  add("step/64 of 256x256", [](State& s) { many_small(s, 64, 256, 256, 1); });
  add("step/16 heads of 64x1024", [](State& s) { many_small(s, 1, 1024, 1024, 16); });
  add("step/256 of 64x64", [](State& s) { many_small(s, 256, 64, 64, 1); });
}

}  // namespace
}  // namespace trasmuon::bench

int main(int argc, char** argv) {
  using namespace trasmuon;
  bench::add_peaks();
  bench::add_products();
  bench::add_newton_schulz();
  bench::add_stages();
  bench::add_many_small();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("trasmuon_isa", cpu::kernel_table().isa);
  benchmark::AddCustomContext("trasmuon_threads", std::to_string(num_threads()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
