// SPDX-License-Identifier: Apache-2.0
// Ranks that hold rows of the weights and exchange buffers between the phases take the step of one optimizer.
#include "trasmuon/sharded_step.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sharded_model.h"

namespace trasmuon::test {
namespace {

std::vector<Options> matrix_rules() {
  std::vector<Options> rules = all_rules();
  std::erase_if(rules, [](const Options& o) { return std::holds_alternative<AdamWOptions>(o); });
  rules.push_back(DionOptions{.weight_decay = 0.1, .rank_fraction = 0.4});
  rules.push_back(
      TrasMuonOptions{.nesterov = false, .clip = Clip::hard, .period = 2, .warmup = 3, .min_damped_dim = 4});
  rules.push_back(TrasMuonOptions{.orthogonalize = false, .min_damped_dim = 1});
  rules.push_back(TrasMuonOptions{.nesterov = false, .row_scale = false, .min_damped_dim = 1});
  rules.push_back(MuonOptions{.nesterov = false});
  rules.push_back(TrasMuonOptions::paper());
  rules.push_back(TrasMuonOptions::released());
  rules.push_back(TrasMuonOptions{.energy_of = EnergyOf::gradient, .min_damped_dim = 1});
  rules.push_back(TrasMuonOptions{.gamma = Gamma::Kind::eta_hat,
                                  .energy_of = EnergyOf::direction,
                                  .reference = Reference::history,
                                  .orthogonalize = false,
                                  .min_damped_dim = 1});
  return rules;
}

void set_lr(std::vector<Options>& groups, double lr) {
  for (Options& o : groups) set_field(o, "lr", lr);
}

// Sums over ranks are added in another order, so they differ by 1e-16 in f64, and so do the scale of the iteration's
// input and eta^. The weights are of size 1: 200 such steps stay below 1e-13. In f32 the sums are in f64 too, and the
// numbers computed from them mostly round to the same f32. Dion sums nothing over ranks: its owner computes what a
// whole step computes, and the products of a rank's rows are those of the whole matrix's.
TEST(ShardedStep, EqualsTheWholeStepToRoundingForEveryRuleAndNumberOfRanks) {
  for (const Options& rule : matrix_rules()) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      std::vector<Options> groups{rule, AdamWOptions{}};
      set_lr(groups, 0.01);
      Ranks<double> world(mixed_model(), groups, even_cuts(mixed_model(), ranks));
      train(world, 200);
      const bool same_bits = ranks == 1 || std::holds_alternative<DionOptions>(rule);
      EXPECT_LE(largest_difference(world), same_bits ? 0 : 1e-13) << rule_name(rule) << " on " << ranks << " ranks";
    }
  }
}

TEST(ShardedStep, RowsMayBeCutAnywhere) {
  std::mt19937_64 rng(3);
  for (int round = 0; round < 20; ++round) {
    const int ranks = 2 + round % 4;
    std::vector<Options> groups{TrasMuonOptions{.lr = 0.01, .min_damped_dim = 1}, AdamWOptions{.lr = 0.01}};
    Ranks<double> world(mixed_model(), groups, random_cuts(mixed_model(), ranks, rng));
    train(world, 30);
    EXPECT_LE(largest_difference(world), 1e-13) << "round " << round;
  }
}

TEST(ShardedStep, RowsLongerThanAPieceAndMatricesThatAllThreadsShare) {
  std::vector<WholeParameter> model{{.name = "wide", .shape = {20, 4100}}, {.name = "square", .shape = {300, 280}}};
  Ranks<double> world(model, {TrasMuonOptions{.lr = 0.01, .nesterov = false, .min_damped_dim = 1}},
                      even_cuts(model, 3));
  train(world, 3);
  EXPECT_LE(largest_difference(world), 1e-13);
}

TEST(ShardedStep, StateIsThatOfTheWholeStep) {
  std::vector<Options> groups{TrasMuonOptions{.lr = 0.01, .min_damped_dim = 1}, AdamWOptions{.lr = 0.01}};
  Ranks<double> world(mixed_model(), groups, even_cuts(mixed_model(), 3));
  train(world, 20);
  for (const char* name : {"e_ref", "gamma_sum", "c_sum", "c_ema", "c_last"}) {
    const TensorView expected = world.whole->state(1, name);
    for (auto& rank : world.ranks()) {
      const TensorView replica = rank.optimizer->state(1, name);
      ASSERT_EQ(replica.shape, expected.shape) << name;
      for (std::int64_t i = 0; i < expected.shape.elements(); ++i) {
        const double value = static_cast<const double*>(expected.data)[i];
        EXPECT_NEAR(static_cast<const double*>(replica.data)[i], value, 1e-12 * std::abs(value)) << name;
        EXPECT_EQ(static_cast<const double*>(replica.data)[i],
                  static_cast<const double*>(world.ranks()[0].optimizer->state(1, name).data)[i])
            << name << ": replicas must be equal to the bit";
      }
    }
  }
  for (const char* name : {"momentum", "v_row"}) {
    const auto* expected = static_cast<const double*>(world.whole->state(1, name).data);
    for (auto& rank : world.ranks()) {
      const TensorView local = rank.optimizer->state(1, name);
      EXPECT_EQ(local.shape[0], rank.parameters[1].weight.shape[0]) << name;
      for (std::int64_t i = 0; i < local.shape.elements(); ++i, ++expected)
        EXPECT_NEAR(static_cast<const double*>(local.data)[i], *expected, 1e-12) << name;
    }
  }
  for (auto& rank : world.ranks()) {
    EXPECT_EQ(*static_cast<const std::int64_t*>(rank.optimizer->state(4, "step").data), 20)
        << "also where no row of the matrix is";
  }
}

TEST(ShardedStep, SingleAndHalfPrecisionWeights) {
  std::vector<Options> groups{TrasMuonOptions{.lr = 0.01, .min_damped_dim = 1}, AdamWOptions{.lr = 0.01}};
  Ranks<float> single(mixed_model(), groups, even_cuts(mixed_model(), 3));
  train(single, 200);
  EXPECT_LE(largest_difference(single), 1e-6);

  set_field(groups[0], "momentum_dtype", "bf16");
  OptimizerOptions masters;
  masters.master_weights = true;
  std::vector<WholeParameter> model = mixed_model();
  Ranks<bf16, float> half(model, groups, even_cuts(model, 4), DType::f32, masters);
  std::mt19937_64 rng(11);
  for (int step = 0; step < 50; ++step) {
    const auto gradients = half.random_gradients(rng);
    half.step_whole(gradients);
    half.step(gradients);
  }
  EXPECT_LE(largest_difference(half), 0x1p-8) << "one rounding of a weight of size 1";
}

// Gradients of 1 and -1 with momentum 1/2 make all sums over ranks exact, so nothing hides how O was computed.
TEST(ShardedStep, OwnersIterateInTheChosenPrecision) {
  const std::vector<WholeParameter> model{{.name = "a", .shape = {40, 48}}, {.name = "b", .shape = {70, 33}}};
  std::vector<std::vector<float>> f32_weights;
  for (const auto precision : {NewtonSchulzPrecision::f32, NewtonSchulzPrecision::bf16}) {
    for (int ranks = 1; ranks <= 3; ++ranks) {
      const MuonOptions muon{.lr = 0.01, .momentum = 0.5, .ns_precision = precision};
      Ranks<float> world(model, {muon}, even_cuts(model, ranks));
      std::mt19937_64 rng(11);
      for (int step = 0; step < 5; ++step) {
        auto gradients = world.random_gradients(rng);
        for (auto& tensor : gradients) {
          for (float& g : tensor) g = g < 0 ? -1.0f : 1.0f;
        }
        world.step_whole(gradients);
        world.step(gradients);
      }
      EXPECT_EQ(largest_difference(world), 0) << ranks << " ranks";
      if (f32_weights.empty()) f32_weights = world.whole_weights;
      EXPECT_EQ(world.whole_weights == f32_weights, precision == NewtonSchulzPrecision::f32);
    }
  }
}

TEST(ShardedStep, SixteenBitRowsAreWithinTheErrorOfSixteenBits) {
  // Both directions round: each step's O is off by about 2^-8 (bf16) or 2^-11 (f16) of its size. The errors of 50 steps
  // of 0.01 add up like sqrt(50), and the largest of some hundred weights is three times the typical one.
  for (const auto& [wire, tolerance] : {std::pair(DType::bf16, 0.003), std::pair(DType::f16, 0.0004)}) {
    for (const double scale : {1.0, 1e-25, 1e15}) {
      std::vector<Options> groups{TrasMuonOptions{.lr = 0.01, .eps = 1e-12, .min_damped_dim = 1},
                                  AdamWOptions{.lr = 0.01}};
      Ranks<float> world(mixed_model(), groups, even_cuts(mixed_model(), 3), wire);
      std::mt19937_64 rng(11);
      for (int step = 0; step < 50; ++step) {
        auto gradients = world.random_gradients(rng);
        for (auto& tensor : gradients) {
          for (float& g : tensor) g = static_cast<float>(scale * g);
        }
        world.step_whole(gradients);
        world.step(gradients);
      }
      const double difference = largest_difference(world);
      EXPECT_LE(difference, tolerance) << to_string(wire) << " with gradients of size " << scale;
      EXPECT_GT(difference, 1e-6) << "rows were not rounded";
    }
  }
}

TEST(ShardedStep, SameRanksSameBits) {
  std::vector<Options> groups{TrasMuonOptions{.lr = 0.01, .min_damped_dim = 1}, AdamWOptions{.lr = 0.01}};
  Ranks<float> one(mixed_model(), groups, even_cuts(mixed_model(), 3), DType::bf16);
  Ranks<float> two(mixed_model(), groups, even_cuts(mixed_model(), 3), DType::bf16);
  train(one, 20);
  const int threads = num_threads();
  set_num_threads(threads == 1 ? 2 : 1);
  train(two, 20);
  set_num_threads(threads);
  for (std::size_t p = 0; p < one.model().size(); ++p) EXPECT_EQ(one.weight(p), two.weight(p));
}

TEST(ShardedStep, EveryMatrixIsOrthogonalizedOnceAndOnlyItsRowsTravel) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {64, 48}}, {.name = "b", .shape = {32, 48}}};
  Ranks<float> world(model, {TrasMuonOptions{}}, even_cuts(model, 4), DType::bf16);
  std::size_t sent = 0, received = 0;
  for (auto& rank : world.ranks()) {
    EXPECT_EQ(rank.step->sizes().sums, 2 * (48 + 2));
    EXPECT_EQ(rank.step->sizes().norms, 2 * 2);
    sent += rank.step->sizes().rows();
    received += rank.step->sizes().gathered();
    EXPECT_EQ(rank.step->sizes().directions(), rank.step->sizes().gathered());
    EXPECT_EQ(rank.step->sizes().returned(), rank.step->sizes().rows());
  }
  EXPECT_EQ(sent, (64 + 32) * 48 * 2);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(world.ranks()[0].step->ownership().idle, 2) << "two matrices, four ranks";
}

TEST(ShardedStep, DionHasTheBitsOfAWholeStepWhereverRowsAreCutAndWhateverTheWire) {
  std::vector<WholeParameter> model = mixed_model();
  model.insert(model.begin(), {.name = "large", .shape = {300, 280}});
  std::mt19937_64 rng(3);
  for (int round = 0; round < 8; ++round) {
    const int ranks = 2 + round % 4;
    std::vector<Options> groups{DionOptions{.lr = 0.01, .weight_decay = 0.1, .rank_fraction = 0.25 * (1 + round % 4)},
                                AdamWOptions{.lr = 0.01}};
    Ranks<float> world(model, groups, random_cuts(model, ranks, rng), round % 2 == 0 ? DType::f32 : DType::f16);
    train(world, 10);
    EXPECT_EQ(largest_difference(world), 0) << "round " << round;
    for (std::size_t p = 0; p < model.size(); ++p) {
      if (model[p].group == 1 || model[p].name == "experts") continue;
      const TensorView expected = world.whole->state(p, "basis");
      for (auto& rank : world.ranks()) {
        const TensorView basis = rank.optimizer->state(p, "basis");
        ASSERT_EQ(basis.shape, expected.shape);
        EXPECT_EQ(std::memcmp(basis.data, expected.data, static_cast<std::size_t>(basis.shape.elements()) * 4), 0)
            << model[p].name << " in round " << round << ": every rank keeps the same Q";
      }
    }
  }
}

TEST(ShardedStep, DionKeepsMomentumWithItsRows) {
  const std::vector<WholeParameter> model{{.name = "a", .shape = {12, 5}}};
  Ranks<double> world(model, {DionOptions{.rank_fraction = 0.4}}, {{5}, {0}, {7}});
  train(world, 5);
  const auto* expected = static_cast<const double*>(world.whole->state(0, "momentum").data);
  for (auto& rank : world.ranks()) {
    const TensorView momentum = rank.optimizer->state(0, "momentum");
    EXPECT_EQ(momentum.shape[0], rank.parameters[0].weight.shape[0]);
    for (std::int64_t i = 0; i < momentum.shape.elements(); ++i)
      EXPECT_EQ(static_cast<const double*>(momentum.data)[i], *expected++);
    EXPECT_EQ(*static_cast<const std::int64_t*>(rank.optimizer->state(0, "step").data), 5);
  }
}

TEST(ShardedStep, DionHandlesGradientsOfLowRankAsAWholeStepDoes) {
  // Columns of B Q that depend on others, and then a step without any gradient left to express.
  const std::vector<WholeParameter> model{{.name = "a", .shape = {24, 16}}};
  Ranks<float> world(model, {DionOptions{.lr = 0.01}}, even_cuts(model, 3), DType::bf16);
  std::mt19937_64 rng(11);
  for (int step = 0; step < 6; ++step) {
    auto gradients = world.random_gradients(rng);
    for (std::size_t i = 0; i < 24; ++i) {  // rank 1; then zero
      for (std::size_t j = 0; j < 16; ++j)
        gradients[0][i * 16 + j] = step < 3 ? static_cast<float>(i + 1) * static_cast<float>(j + 1) : 0.0f;
    }
    world.step_whole(gradients);
    world.step(gradients);
    EXPECT_EQ(largest_difference(world), 0) << "step " << step;
  }
}

TEST(ShardedStep, DionStepsMasterWeights) {
  OptimizerOptions masters;
  masters.master_weights = true;
  const std::vector<WholeParameter> model = mixed_model();
  Ranks<bf16, float> world(model, {DionOptions{.lr = 0.01}, AdamWOptions{}}, even_cuts(model, 4), DType::f16, masters);
  std::mt19937_64 rng(11);
  for (int step = 0; step < 20; ++step) {
    const auto gradients = world.random_gradients(rng);
    world.step_whole(gradients);
    world.step(gradients);
  }
  EXPECT_EQ(largest_difference(world), 0);
}

TEST(ShardedStep, DionSendsRowsOnceAndGetsItsFactorsBack) {
  const std::vector<WholeParameter> model{{.name = "a", .shape = {64, 48}}};
  Ranks<float> world(model, {DionOptions{.rank_fraction = 0.25}}, even_cuts(model, 4), DType::bf16);
  std::size_t rows = 0, gathered = 0, directions = 0, returned = 0;
  for (auto& rank : world.ranks()) {
    const ExchangeSizes& sizes = rank.step->sizes();
    EXPECT_EQ(sizes.sums, 1);
    EXPECT_EQ(sizes.norms, 0);
    rows += sizes.rows(), gathered += sizes.gathered();
    directions += sizes.directions(), returned += sizes.returned();
  }
  EXPECT_EQ(rows, 64 * 48 * 4) << "in f32, whatever the wire";
  EXPECT_EQ(gathered, rows);
  EXPECT_EQ(directions, (64 * 12 + 4 * 48 * 12) * 4) << "P once, R to each rank";
  EXPECT_EQ(returned, directions);
}

TEST(ShardedStep, DionStepsExpertsThatAreSharded) {
  std::vector<WholeParameter> model{{.name = "experts", .shape = {5, 6, 4}}};
  Ranks<double> world(model, {DionOptions{.rank_fraction = 0.5}}, even_cuts(model, 3));
  train(world, 20);
  EXPECT_EQ(largest_difference(world), 0) << "the first basis must be that of the whole parameter";
}

TEST(ShardedStep, DiagnosticsSayWhatARankKnows) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {12, 16}}};
  OptimizerOptions settings;
  settings.diagnostics = true;
  Ranks<double> world(model, {TrasMuonOptions{.min_damped_dim = 1}}, even_cuts(model, 3), DType::f32, settings);
  train(world, 6);
  const Diagnostics expected = world.whole->diagnostics(0)[0];
  for (auto& rank : world.ranks()) {
    const Diagnostics d = rank.optimizer->diagnostics(0)[0];
    EXPECT_TRUE(d.updated);
    EXPECT_EQ(d.step, 6);
    EXPECT_NEAR(d.r_max, expected.r_max, 1e-9);
    EXPECT_NEAR(d.c_mean, expected.c_mean, 1e-9);
    EXPECT_NEAR(d.eta_hat, expected.eta_hat, 1e-9 * expected.eta_hat);
    EXPECT_TRUE(std::isnan(d.update_rms) && std::isnan(d.isometry_error));
  }
}

TEST(ShardedStep, DiagnosticsOfDionSayWhatARankKnows) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {12, 16}}};
  OptimizerOptions settings;
  settings.diagnostics = true;
  Ranks<double> world(model, {DionOptions{}}, even_cuts(model, 3), DType::f32, settings);
  train(world, 6);
  for (auto& rank : world.ranks()) {
    const Diagnostics d = rank.optimizer->diagnostics(0)[0];
    EXPECT_TRUE(d.updated);
    EXPECT_EQ(d.step, 6);
    EXPECT_EQ(d.eta_hat, world.whole->diagnostics(0)[0].eta_hat);
    EXPECT_TRUE(std::isnan(d.update_rms) && std::isnan(d.isometry_error));
  }
}

}  // namespace
}  // namespace trasmuon::test
