// SPDX-License-Identifier: Apache-2.0
// A sharded step takes all its memory in its first call. Whichever allocation fails there, nothing has changed and the
// call can be repeated; the other calls allocate nothing.
#include <gtest/gtest.h>

#include "failing_allocations.h"
#include "support/ranks.h"

namespace trasmuon::test {
namespace {

using World = Ranks<float>;

World make_world() {
  const std::vector<WholeParameter> model{{.name = "blocks", .shape = {12, 20}, .row_blocks = {5, 7}},
                                          {.name = "experts", .shape = {4, 6, 5}},
                                          {.name = "bias", .shape = {33}, .group = 1},
                                          {.name = "dion's", .shape = {14, 9}, .group = 2}};
  return World(model, {TrasMuonOptions{}, AdamWOptions{}, DionOptions{.rank_fraction = 0.5}}, even_cuts(model, 2),
               DType::bf16);
}

bool fails(long k, const std::function<void()>& call, bool& happened) {
  const FailAllocation failure(k, false);
  try {
    call();
    happened = failure.happened();
    return false;
  } catch (const std::bad_alloc&) {
    happened = true;
    return true;
  }
}

TEST(ShardedAllocation, OnlyTheFirstCallTakesMemoryAndItCanBeRepeated) {
  std::mt19937_64 rng(3);
  World expected = make_world();
  const auto gradients = expected.random_gradients(rng);
  expected.step(gradients);
  long failed = 0;
  for (long k = 1;; ++k) {
    World fresh = make_world(), other = make_world();
    other.begin(gradients);  // to have the parts of the gradients
    auto& rank = fresh.ranks()[0];
    rank.gradients = other.ranks()[0].gradients;
    bool happened = false;
    if (fails(
            k, [&] { rank.step->momentum(rank.gradients, rank.sums); }, happened)) {
      ++failed;
      EXPECT_EQ(rank.step->phase(), StepPhase::momentum);
      EXPECT_EQ(rank.weights, make_world().ranks()[0].weights);
    } else {
      rank.step->cancel();
    }
    fresh.begin(gradients);
    const auto none = [&](const std::function<void(World::Rank&)>& call) {
      for (auto& r : fresh.ranks()) {
        bool allocated = false;
        EXPECT_FALSE(fails(
            1, [&] { call(r); }, allocated));
        EXPECT_FALSE(allocated);
        r.step->cancel();
      }
    };
    none([](World::Rank& r) { r.step->pack(r.sums, r.rows); });
    fresh.begin(gradients), fresh.pack();
    none([](World::Rank& r) { r.step->orthogonalize(r.gathered, r.directions); });
    fresh.begin(gradients), fresh.pack(), fresh.orthogonalize();
    none([](World::Rank& r) { r.step->row_scale(r.returned, r.norms); });
    fresh.begin(gradients), fresh.pack(), fresh.orthogonalize(), fresh.row_scale();
    none([](World::Rank& r) { r.step->apply(r.norms); });
    for (std::size_t p = 0; p < fresh.model().size(); ++p) EXPECT_EQ(fresh.weight(p), expected.weight(p));
    if (!happened) break;
  }
  EXPECT_GT(failed, 3) << "the step allocates nothing: this test has no effect";
}

TEST(ShardedAllocation, AConstructionThatFailsLeaksNothing) {
  World world = make_world();
  auto& rank = world.ranks()[0];
  const ShardedStepOptions options{0, 2, {6, 2, 17, 7, 6, 2, 16, 7}, DType::f32};
  for (long k = 1;; ++k) {
    const long live = live_allocations();
    bool happened = false;
    (void)fails(
        k, [&] { const ShardedStep step(*rank.optimizer, options); }, happened);
    EXPECT_EQ(live_allocations(), live) << "a leak";
    if (!happened) break;
  }
}

}  // namespace
}  // namespace trasmuon::test
