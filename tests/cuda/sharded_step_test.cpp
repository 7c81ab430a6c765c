// SPDX-License-Identifier: Apache-2.0
// Ranks whose rows are in the memory of a GPU take the step of ranks whose rows are in the host's.
#include "trasmuon/sharded_step.h"

#include <limits>

#include "cuda_ranks.h"
#include "sizes.h"

namespace trasmuon::test {
namespace {

using CudaShardedStep = OnGpu;

/// Steps both worlds; in one step a rank has a bad entry, in another it has no gradient.
template <class T>
double distance_after(const Options& rule, DType wire, int steps, CudaMemory& memory, bool trouble = true) {
  const std::vector<Options> groups{rule, AdamWOptions{}};
  const std::vector<WholeParameter> model = model_on_gpu();
  Ranks<T> host(model, groups, even_cuts(model, 3), wire);
  CudaRanks<T> device(host, groups, wire, memory);
  std::mt19937_64 rng(5);
  for (int t = 0; t < steps; ++t) {
    auto gradients = host.random_gradients(rng);
    if (t == 2 && trouble) gradients[0].back() = std::numeric_limits<T>::quiet_NaN();
    const auto missing = [&](std::size_t rank, std::size_t p) { return trouble && t == 3 && rank == 1 && p == 6; };
    host.begin(gradients, missing);
    device.step();
    host.pack();
    host.orthogonalize();
    host.row_scale();
    host.apply();
  }
  for (const std::size_t p : {0u, 6u}) {
    for (std::size_t r = 0; r < 3; ++r) {
      for (const char* name : {"step", "skipped"}) {
        std::int64_t count = -1;
        device.optimizer(r).read_state(p, name, &count);
        EXPECT_EQ(count, *static_cast<const std::int64_t*>(host.ranks()[r].optimizer->state(p, name).data)) << name;
      }
    }
  }
  return device.distance();
}

std::vector<double> basis_of(Optimizer& optimizer) {
  std::vector<double> basis(static_cast<std::size_t>(optimizer.state(0, "basis").shape.elements()));
  optimizer.read_state(0, "basis", basis.data());
  return basis;
}

TEST_F(CudaShardedStep, FollowsTheCpuInDouble) {
  for (const Options& rule :
       {Options(TrasMuonOptions{.lr = 0.02}),
        Options(TrasMuonOptions{.lr = 0.02, .nesterov = false, .clip = Clip::hard, .min_damped_dim = 30}),
        Options(NorMuonOptions{}), Options(NorMuonOptions{.scaling = NorMuonScaling::code}), Options(MuonOptions{}),
        Options(TrasMuonOptions{.lr = 0.02, .orthogonalize = false}),
        Options(TrasMuonOptions{.lr = 0.02, .row_scale = false, .calibrate = false}),
        Options(TrasMuonOptions{.lr = 0.02, .energy_of = EnergyOf::gradient, .min_damped_dim = 1}),
        Options(TrasMuonOptions{.lr = 0.02,
        .gamma = Gamma::Kind::eta_hat,
        .energy_of = EnergyOf::direction,
        .reference = Reference::history,
        .min_damped_dim = 1})})
    EXPECT_LE(distance_after<double>(rule, DType::f32, steps_of(50), memory), 1e-11) << describe(rule);
}

TEST_F(CudaShardedStep, DionFollowsTheCpu) {
  for (const double fraction : {1.0, 0.4}) {
    const DionOptions rule{.lr = 0.02, .weight_decay = 0.1, .rank_fraction = fraction};
    EXPECT_LE(distance_after<double>(rule, DType::f16, steps_of(50), memory), 1e-11) << fraction;
    EXPECT_LE(distance_after<float>(rule, DType::f16, steps_of(50), memory), 1e-4) << fraction;
  }
}

TEST_F(CudaShardedStep, DionBesideAnotherRule) {
  std::vector<WholeParameter> model = model_on_gpu();
  model.push_back({.name = "another", .shape = {40, 24}, .group = 2});
  model.push_back({.name = "few rows", .shape = {2, 24}, .group = 2});
  const std::vector<Options> groups{DionOptions{.lr = 0.02, .rank_fraction = 0.5}, AdamWOptions{}, MuonOptions{}};
  Ranks<double> host(model, groups, even_cuts(model, 3), DType::f32);
  CudaRanks<double> device(host, groups, DType::f32, memory);
  std::mt19937_64 rng(5);
  for (int t = 0; t < steps_of(50); ++t) {
    const auto gradients = host.random_gradients(rng);
    host.begin(gradients);
    device.step();
    host.pack(), host.orthogonalize(), host.row_scale(), host.apply();
  }
  EXPECT_LE(device.distance(), 1e-11);
  // Q is the same on all ranks, to the bit.
  const std::vector<double> first = basis_of(device.optimizer(0)), last = basis_of(device.optimizer(2));
  EXPECT_EQ(first, last);
  EXPECT_GT(first.size(), 0);
}

TEST_F(CudaShardedStep, FollowsTheCpuInSinglePrecision) {
  const TrasMuonOptions rule{
      .lr = 0.02, .ns_form = NewtonSchulzForm::standard, .ns_precision = NewtonSchulzPrecision::f32};
  EXPECT_LE(distance_after<float>(rule, DType::f32, steps_of(50), memory), 1e-4);
  // The last bit of f32 sometimes changes a rounding to 16 bits, of M and of O.
  EXPECT_LE(distance_after<float>(rule, DType::bf16, steps_of(50), memory), 1e-2);
  EXPECT_LE(distance_after<float>(rule, DType::f16, steps_of(50), memory), 2e-3);
}

TEST_F(CudaShardedStep, MomentumInBf16) {
  const TrasMuonOptions rule{.lr = 0.02,
                             .ns_form = NewtonSchulzForm::standard,
                             .ns_precision = NewtonSchulzPrecision::f32,
                             .momentum_dtype = MomentumDType::bf16};
  EXPECT_LE(distance_after<float>(rule, DType::bf16, steps_of(50), memory), 1e-2);
}

TEST_F(CudaShardedStep, IterationsIn16Bits) {
  // On the CPU the iteration is in f32.
  const std::vector<WholeParameter> model = model_on_gpu();
  const std::vector<Options> on_cpu{TrasMuonOptions{.lr = 0.02}, AdamWOptions{}};
  for (const char* precision : {"automatic", "f16"}) {
    std::vector<Options> on_gpu = on_cpu;
    set_field(on_gpu[0], "ns_precision", precision);
    Ranks<float> host(model, on_cpu, even_cuts(model, 3), DType::f16);
    CudaRanks<float> device(host, on_gpu, DType::f16, memory);
    std::mt19937_64 rng(5);
    for (int t = 0; t < steps_of(50); ++t) {
      const auto gradients = host.random_gradients(rng);
      host.begin(gradients);
      device.step();
      host.pack(), host.orthogonalize(), host.row_scale(), host.apply();
    }
    EXPECT_LE(device.distance(), 5e-2) << precision;
  }
}

TEST_F(CudaShardedStep, RefusesWhatItCannotDo) {
  float* w = memory.copy(std::vector<float>(20, 1.0f));
  OptimizerOptions settings;
  settings.diagnostics = true;
  Optimizer optimizer(
      {{TrasMuonOptions{},
        {{.name = "a", .weight = view(w, {4, 5}), .device = Device::cuda(0), .shard = RowShard{0, 8}}}}},
      settings);
  ShardedStep step(optimizer, {.rank = 0, .ranks = 2, .rows = {4, 4}});
  const TensorView gradient = view(w, {4, 5});
  auto* sums = static_cast<double*>(memory.allocate(7 * sizeof(double)));
  EXPECT_EQ(error_of([&] {
              step.momentum({&gradient, 1}, {sums, 7});
            }),
            "cuda: diagnostics must be off for sharded steps: the device does not compute them");
}

}  // namespace
}  // namespace trasmuon::test
