// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_ranks.h"
#include "cuda/twins.h"
#include "host_cuda/launch.h"

namespace trasmuon::test {
namespace {

using CudaOrder = OnGpu;

/// Blocks, warps and lanes in the opposite order: a barrier or an ordered sum that is missing changes a bit.
void expect_same_bits(const Options& options, CudaMemory& memory, const std::vector<Item>& items) {
  Twins<float> forwards(options, options, memory, items), backwards(options, options, memory, items);
  for (int t = 0; t < 3; ++t) forwards.step();
  host_cuda::run_backwards(true);
  for (int t = 0; t < 3; ++t) backwards.step();
  host_cuda::run_backwards(false);
  for (std::size_t i = 0; i < forwards.count(); ++i) {
    EXPECT_EQ(memory.fetch<float>(forwards.device_weight(i), forwards.elements(i)),
              memory.fetch<float>(backwards.device_weight(i), backwards.elements(i)))
        << describe(options) << " parameter " << i;
  }
}

TEST_F(CudaOrder, OfThreadsDoesNotMatter) {
  expect_same_bits(TrasMuonOptions{}, memory, mixed_items());
  const std::vector<Item> few = {{{33, 65}}, {{70, 150}, true}, {{9, 1100}}};
  expect_same_bits(TrasMuonOptions{.gamma = Gamma::Kind::eta_hat,
                                   .energy_of = EnergyOf::direction,
                                   .reference = Reference::history,
                                   .min_damped_dim = 1},
                   memory, few);
  expect_same_bits(
      TrasMuonOptions{.nesterov = false, .energy_of = EnergyOf::gradient, .quantile = 0.9, .min_damped_dim = 1}, memory,
      few);
  expect_same_bits(NorMuonOptions{.ns_precision = NewtonSchulzPrecision::f32}, memory, mixed_items());
  expect_same_bits(DionOptions{.rank_fraction = 0.5}, memory, mixed_items());
  expect_same_bits(AdamWOptions{}, memory, {{{300}}, {{67, 130}}, {{9, 1100}}});
}

TEST_F(CudaOrder, OfThreadsDoesNotMatterInShardedSteps) {
  const std::vector<Options> groups{TrasMuonOptions{}, AdamWOptions{}, DionOptions{.rank_fraction = 0.5}};
  std::vector<WholeParameter> model = model_on_gpu();
  model.push_back({.name = "dion's", .shape = {70, 90}, .group = 2});
  std::vector<std::vector<float>> weights;
  for (const bool backwards : {false, true}) {
    Ranks<float> host(model, groups, even_cuts(model, 3), DType::bf16);
    CudaRanks<float> device(host, groups, DType::bf16, memory);
    std::mt19937_64 rng(5);
    host_cuda::run_backwards(backwards);
    for (int t = 0; t < 3; ++t) {
      const auto gradients = host.random_gradients(rng);
      host.begin(gradients);
      device.step();
      for (auto& rank : host.ranks()) rank.step->cancel();
    }
    host_cuda::run_backwards(false);
    weights.push_back(device.weights());
  }
  EXPECT_EQ(weights[0], weights[1]);
}

}  // namespace
}  // namespace trasmuon::test
