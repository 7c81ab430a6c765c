// SPDX-License-Identifier: Apache-2.0
// What a sharded step does when something is wrong: nothing, on all ranks alike.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "sharded_model.h"
#include "trasmuon/sharded_step.h"

namespace trasmuon::test {
namespace {

std::int64_t counter(const Optimizer& optimizer, std::size_t p, const char* name) {
  return *static_cast<const std::int64_t*>(optimizer.state(p, name).data);
}

TEST(ShardedStep, ABadEntryOnOneRankSkipsTheMatrixOnAllRanks) {
  std::vector<WholeParameter> model{{.name = "a", .shape = {12, 5}}, {.name = "b", .shape = {9, 5}}};
  const std::vector<std::pair<Options, float>> cases{
      {TrasMuonOptions{.lr = 0.01}, std::numeric_limits<float>::quiet_NaN()},
      {TrasMuonOptions{.lr = 0.01}, std::numeric_limits<float>::infinity()},
      {TrasMuonOptions{.lr = 0.01}, 1e30f},
      {DionOptions{.lr = 0.01, .rank_fraction = 0.5}, std::numeric_limits<float>::quiet_NaN()}};
  for (const auto& [rule, bad] : cases) {
    Ranks<float> world(model, {rule}, even_cuts(model, 3));
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
  for (const Options& rule : {Options(TrasMuonOptions{.lr = 0.01}), Options(DionOptions{.lr = 0.01})}) {
    Ranks<float> world(model, {rule}, even_cuts(model, 3));
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
}

TEST(ShardedStep, AnAbandonedStepHasChangedNothing) {
  std::vector<Options> groups{TrasMuonOptions{.lr = 0.01, .min_damped_dim = 1}, AdamWOptions{.lr = 0.01},
                              DionOptions{.lr = 0.01, .rank_fraction = 0.5}};
  std::vector<WholeParameter> model = mixed_model();
  model.push_back({.name = "dion's", .shape = {10, 6}, .group = 2});
  using World = Ranks<float>;
  World world(model, groups, even_cuts(model, 3));
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
            "sharded step: group 0's orthogonalize cannot change after construction: it decides what travels");
  rank.optimizer->set(0, "orthogonalize", 1);
  Options options = rank.optimizer->options(0);
  set_field(options, "energy_of", "direction");
  rank.optimizer->set_options(0, options);
  EXPECT_EQ(error_of([&] { world.begin(gradients); }),
            "sharded step: group 0's energy_of cannot change after construction: it decides what travels");
}

}  // namespace
}  // namespace trasmuon::test
