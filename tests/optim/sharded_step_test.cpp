// SPDX-License-Identifier: Apache-2.0
// Ranks that hold rows of the weights and exchange buffers between the phases take the step of one optimizer.
#include "trasmuon/sharded_step.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/ranks.h"

namespace trasmuon::test {
namespace {

/// Matrices, fused blocks, experts, convolutions, a single row, AdamW beside them, and a parameter that is not sharded.
std::vector<WholeParameter> mixed_model() {
  return {{.name = "plain", .shape = {13, 8}},
          {.name = "qkv", .shape = {24, 10}, .row_blocks = {7, 5, 12}},
          {.name = "experts", .shape = {5, 6, 4}},
          {.name = "convolution", .shape = {9, 3, 2, 2}},
          {.name = "one row", .shape = {1, 6}},
          {.name = "tall", .shape = {31, 3}},
          {.name = "whole", .shape = {6, 7}, .sharded = false},
          {.name = "embedding", .shape = {10, 4}, .group = 1},
          {.name = "bias", .shape = {11}, .group = 1}};
}

/// The rules that are pipelines: Dion has no sharded step.
std::vector<Options> pipeline_rules() {
  std::vector<Options> rules = all_rules();
  std::erase_if(rules, [](const Options& o) {
    return std::holds_alternative<DionOptions>(o) || std::holds_alternative<AdamWOptions>(o);
  });
  rules.push_back(TrasMuonOptions{.nesterov = true, .clip = Clip::hard, .period = 2, .warmup = 3, .min_damped_dim = 4});
  rules.push_back(TrasMuonOptions{.orthogonalize = false, .min_damped_dim = 1});
  rules.push_back(TrasMuonOptions{.nesterov = true, .row_scale = false, .min_damped_dim = 1});
  rules.push_back(MuonOptions{.nesterov = false});
  return rules;
}

void set_lr(std::vector<Options>& groups, double lr) {
  for (Options& o : groups) set_field(o, "lr", lr);
}

template <class T, class G>
double largest_difference(Ranks<T, G>& world) {
  double largest = 0;
  for (std::size_t p = 0; p < world.model().size(); ++p) {
    const std::vector<T> ours = world.weight(p);
    for (std::size_t i = 0; i < ours.size(); ++i)
      largest = std::max(largest, std::abs(to_double(ours[i]) - to_double(world.whole_weights[p][i])));
  }
  return largest;
}

/// Steps with a burst of one column now and then, so that there is something to damp.
template <class T, class G>
void train(Ranks<T, G>& world, int steps) {
  std::mt19937_64 rng(11);
  for (int step = 0; step < steps; ++step) {
    auto gradients = world.random_gradients(rng);
    if (step % 9 == 4) {
      for (std::size_t i = 3; i < gradients[0].size(); i += 8) gradients[0][i] = G(40) * gradients[0][i];
    }
    world.step_whole(gradients);
    world.step(gradients);
  }
}

// Sums over ranks are added in another order, so they differ by 1e-16 in f64, and so do the scale of the iteration's
// input and eta^. The weights are of size 1: 200 such steps stay below 1e-13. In f32 the sums are in f64 too, and the
// numbers computed from them mostly round to the same f32.
TEST(ShardedStep, EqualsTheWholeStepToRoundingForEveryRuleAndNumberOfRanks) {
  for (const Options& rule : pipeline_rules()) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      std::vector<Options> groups{rule, AdamWOptions{}};
      set_lr(groups, 0.01);
      Ranks<double> world(mixed_model(), groups, even_cuts(mixed_model(), ranks));
      train(world, 200);
      EXPECT_LE(largest_difference(world), ranks == 1 ? 0 : 1e-13) << rule_name(rule) << " on " << ranks << " ranks";
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
  Ranks<double> world(model, {TrasMuonOptions{.lr = 0.01, .nesterov = true, .min_damped_dim = 1}}, even_cuts(model, 3));
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
    sent += rank.step->sizes().sent();
    received += rank.step->sizes().received();
  }
  EXPECT_EQ(sent, (64 + 32) * 48 * 2);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(world.ranks()[0].step->ownership().idle, 2) << "two matrices, four ranks";
}

// ---- What happens when something is wrong ------------------------------------------------------------------------

std::int64_t counter(const Optimizer& optimizer, std::size_t p, const char* name) {
  return *static_cast<const std::int64_t*>(optimizer.state(p, name).data);
}

TEST(ShardedStep, ABadEntryOnOneRankSkipsTheMatrixOnAllRanks) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {12, 5}}, {.name = "b", .shape = {9, 5}}};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
    Ranks<float> world(model, {TrasMuonOptions{.lr = 0.01}}, even_cuts(model, 3));
    train(world, 3);
    std::mt19937_64 rng(1);
    auto gradients = world.random_gradients(rng);
    gradients[0][58] = bad;  // in the last row
    const std::vector<float> before = world.weight(0), other = world.weight(1);
    world.step(gradients);
    world.step_whole(gradients);
    EXPECT_EQ(world.weight(0), before);
    EXPECT_NE(world.weight(1), other);
    EXPECT_LE(largest_difference(world), 1e-5);
    for (auto& rank : world.ranks()) {
      EXPECT_EQ(counter(*rank.optimizer, 0, "skipped"), 1);
      EXPECT_EQ(counter(*rank.optimizer, 0, "step"), 3);
      EXPECT_EQ(counter(*rank.optimizer, 1, "step"), 4);
      for (const double sum : rank.sums) EXPECT_TRUE(std::isfinite(sum));
    }
    train(world, 3);
    EXPECT_LE(largest_difference(world), 1e-5);
  }
}

TEST(ShardedStep, AGradientThatIsMissingOnSomeRanksSkipsTheMatrixOnAll) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {12, 5}}, {.name = "b", .shape = {2, 5}}};
  Ranks<float> world(model, {TrasMuonOptions{.lr = 0.01}}, even_cuts(model, 3));
  std::mt19937_64 rng(1);
  const auto gradients = world.random_gradients(rng);
  const std::vector<float> before = world.weight(0);
  // Rank 1 has no gradient of a; rank 2 has no rows of b, so its missing gradient says nothing.
  world.step(gradients, [](std::size_t rank, std::size_t p) { return rank == 1 + p; });
  EXPECT_EQ(world.weight(0), before);
  for (auto& rank : world.ranks()) {
    EXPECT_EQ(counter(*rank.optimizer, 0, "skipped"), 1);
    EXPECT_EQ(counter(*rank.optimizer, 0, "step"), 0);
    EXPECT_EQ(counter(*rank.optimizer, 1, "skipped"), 0);
    EXPECT_EQ(counter(*rank.optimizer, 1, "step"), 1);
  }
  // Missing everywhere: the parameter is left alone.
  world.step(gradients, [](std::size_t, std::size_t p) { return p == 0; });
  EXPECT_EQ(world.weight(0), before);
  for (auto& rank : world.ranks()) EXPECT_EQ(counter(*rank.optimizer, 0, "skipped"), 1);
}

TEST(ShardedStep, AnAbandonedStepHasChangedNothing) {
  std::vector<Options> groups{TrasMuonOptions{.lr = 0.01, .min_damped_dim = 1}, AdamWOptions{.lr = 0.01}};
  using World = Ranks<float>;
  World world(mixed_model(), groups, even_cuts(mixed_model(), 3));
  train(world, 3);
  std::mt19937_64 rng(5);
  const auto gradients = world.random_gradients(rng);
  const auto contents = [&] {
    std::vector<std::byte> all;
    for (auto& rank : world.ranks()) {
      for (std::size_t p = 0; p < world.model().size(); ++p) {
        const auto state = state_bytes(*rank.optimizer, p);
        all.insert(all.end(), state.begin(), state.end());
        const auto* weights = reinterpret_cast<const std::byte*>(rank.weights[p].data());
        all.insert(all.end(), weights, weights + rank.weights[p].size() * sizeof(float));
      }
    }
    return all;
  };
  const auto before = contents();
  const std::vector<std::function<void()>> phases{[&] { world.begin(gradients); }, [&] { world.pack(); },
                                                  [&] { world.orthogonalize(); }, [&] { world.row_scale(); }};
  for (std::size_t done = 1; done <= phases.size(); ++done) {
    for (std::size_t i = 0; i < done; ++i) phases[i]();
    for (auto& rank : world.ranks()) {
      EXPECT_NE(rank.step->phase(), StepPhase::momentum);
      EXPECT_EQ(rank.step->applied(), 3);
      EXPECT_EQ(error_of([&] { rank.optimizer->set_lr(0.02), rank.optimizer->set_lr(0.01); }), "no error");
      rank.step->cancel();
      EXPECT_EQ(rank.step->phase(), StepPhase::momentum);
    }
    EXPECT_EQ(contents(), before) << "after " << done << " phases";
  }
  world.step(gradients);
  world.step_whole(gradients);
  EXPECT_LE(largest_difference(world), 1e-5);
  EXPECT_EQ(world.ranks()[0].step->applied(), 4);
}

TEST(ShardedStep, CallsOutOfOrderAndBuffersOfOtherSizesAreRefused) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {4, 5}}};
  Ranks<float> world(model, {TrasMuonOptions{}}, even_cuts(model, 2));
  auto& rank = world.ranks()[0];
  ShardedStep& step = *rank.step;
  EXPECT_EQ(error_of([&] { step.pack(rank.sums, rank.rows); }), "sharded step: pack was called, but momentum is next");
  std::mt19937_64 rng(5);
  const auto gradients = world.random_gradients(rng);
  world.begin(gradients);
  EXPECT_EQ(error_of([&] { step.apply(rank.norms); }),
            "sharded step: apply was called, but pack is next; cancel gives up the step");
  EXPECT_EQ(error_of([&] { step.momentum(rank.gradients, rank.sums); }),
            "sharded step: momentum was called, but pack is next; cancel gives up the step");
  std::vector<double> short_sums(6);
  EXPECT_EQ(error_of([&] { step.pack(short_sums, rank.rows); }), "sharded step: pack: sums must have 7 doubles, got 6");
  EXPECT_EQ(error_of([&] { step.pack(rank.sums, {}); }), "sharded step: pack: rows must have 48 bytes, got 0");
  EXPECT_EQ(step.phase(), StepPhase::pack) << "a refused call changes nothing";
  world.pack();
  world.orthogonalize();
  EXPECT_EQ(error_of([&] { step.row_scale(rank.returned, {}); }),
            "sharded step: row_scale: norms must have 2 doubles, got 0");
  world.row_scale();
  world.apply();
  EXPECT_EQ(error_of([&] { rank.optimizer->step(rank.gradients); }),
            "step: parameter 'a' has 2 of its 4 rows here; step it with a ShardedStep");
}

TEST(ShardedStep, OneStepAtATime) {
  std::vector<float> w(20), g(20, 1.0f);
  Optimizer optimizer({{TrasMuonOptions{}, {{.name = "a", .weight = view(w.data(), {4, 5})}}}});
  ShardedStep one(optimizer, {.rows = {4}}), two(optimizer, {.rows = {4}});
  const TensorView gradient = view(g.data(), {4, 5});
  one.momentum({&gradient, 1}, {});
  EXPECT_EQ(error_of([&] {
              two.momentum({&gradient, 1}, {});
            }),
            "sharded step: another step of this optimizer is under way");
  EXPECT_EQ(error_of([&] {
              optimizer.step({&gradient, 1});
            }),
            "step: a ShardedStep is under way; apply or cancel it first");
  one.cancel();
  EXPECT_EQ(error_of([&] { optimizer.step({&gradient, 1}); }), "no error");
}

TEST(ShardedStep, OptionsThatDoNotFitAreRefused) {
  std::vector<float> w(20);
  const auto build = [&](const Options& options, RowShard shard, Shape shape, bool transposed = false) {
    return Optimizer(
        {{options, {{.name = "a", .weight = view(w.data(), shape), .transposed = transposed, .shard = shard}}}});
  };
  const auto refused = [&](ShardedStepOptions options) {
    Optimizer optimizer = build(TrasMuonOptions{}, {4, 8}, {4, 5});
    return error_of([&] { ShardedStep step(optimizer, options); });
  };
  EXPECT_EQ(refused({.rank = 1, .ranks = 2, .rows = {4, 4}}), "no error");
  EXPECT_EQ(refused({.rank = 2, .ranks = 2, .rows = {4, 4}}), "sharded step: rank must be in [0, 1], got 2");
  EXPECT_EQ(refused({.rank = 0, .ranks = 0}), "sharded step: ranks must be in [1, 65535], got 0");
  EXPECT_EQ(refused({.rank = 1, .ranks = 2, .rows = {4, 4}, .wire = DType::f64}),
            "sharded step: wire must be f32, bf16 or f16, got f64");
  EXPECT_EQ(refused({.rank = 1, .ranks = 2, .rows = {4}}),
            "sharded step: rows must have an entry for each of 2 ranks and 1 parameters, 2, got 1");
  EXPECT_EQ(refused({.rank = 1, .ranks = 2, .rows = {5, 3}}),
            "parameter 'a': rows of rank 1, this one, must be 4 from row 4, as its shard says, got 3 from row 5");
  EXPECT_EQ(refused({.rank = 1, .ranks = 3, .rows = {4, 4, 1}}),
            "parameter 'a': rows of rank 2 must be in [0, 0], what is left of 8 rows, got 1");
  EXPECT_EQ(error_of([&] {
              build(TrasMuonOptions{}, {5, 8}, {4, 5});
            }),
            "parameter 'a': shard must lie in its 8 rows, got 4 rows from row 5");
  EXPECT_EQ(error_of([&] {
              build(DionOptions{}, {0, 8}, {4, 5});
            }),
            "parameter 'a': dion cannot step a matrix whose rows are sharded; keep it whole, or use another rule");
  EXPECT_EQ(error_of([&] {
              build(TrasMuonOptions{}, {0, 8}, {4, 5}, true);
            }),
            "parameter 'a': a weight stored [in, out] cannot be sharded along its first dimension, the columns of W; "
            "shard it along the second, keep it whole or store it [out, in]");
}

TEST(ShardedStep, WhatTravelsCannotChange) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {4, 5}}};
  Ranks<float> world(model, {TrasMuonOptions{}}, even_cuts(model, 2));
  auto& rank = world.ranks()[0];
  rank.optimizer->set(0, "orthogonalize", 0);
  std::mt19937_64 rng(5);
  const auto gradients = world.random_gradients(rng);
  EXPECT_EQ(error_of([&] { world.begin(gradients); }),
            "sharded step: group 0's orthogonalize cannot change after construction");
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

}  // namespace
}  // namespace trasmuon::test
