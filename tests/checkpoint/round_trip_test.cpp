// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

TEST(Checkpoint, RestoresEveryRulesState) {
  const TemporaryDirectory directory;
  Model saved(every_rule());
  saved.train(0, 20);
  save_checkpoint(saved.optimizer(), directory / "run.safetensors");
  const Snapshot expected = saved.snapshot();

  Model loaded(every_rule());
  const Snapshot fresh = loaded.snapshot();
  ASSERT_EQ(fresh.state.size(), expected.state.size());
  load_checkpoint(loaded.optimizer(), directory / "run.safetensors");
  EXPECT_EQ(loaded.snapshot().state, expected.state);
  EXPECT_NE(fresh.state, expected.state) << "training must have changed the state for this test to mean anything";
  EXPECT_EQ(loaded.snapshot().weights, fresh.weights) << "weights are the caller's";
  EXPECT_EQ(saved.snapshot(), expected) << "saving must not change the optimizer";
}

class Resumed : public testing::TestWithParam<int> {};

// With a schedule, so that the options at the time of saving matter: after the last
// change of lr only the checkpoint knows it.
TEST_P(Resumed, ContinuesBitForBit) {
  constexpr int kLast = 60;
  const int stop = GetParam();
  const TemporaryDirectory directory;
  const std::string path = directory / "run.safetensors";

  Model whole(every_rule());
  std::vector<Bytes> weights;
  for (int step = 0; step <= kLast; ++step) {
    if (step <= stop) whole.optimizer().set_lr(0.01 / (1 + step));
    if (step == stop) {
      save_checkpoint(whole.optimizer(), path);
      weights = whole.weights();
    }
    if (step < kLast) whole.train(step);
  }

  Model resumed(every_rule());
  for (std::size_t i = 0; i < weights.size(); ++i)
    std::copy(weights[i].begin(), weights[i].end(), resumed.weights()[i].begin());
  load_checkpoint(resumed.optimizer(), path);
  resumed.train(stop, kLast);
  const Snapshot a = whole.snapshot(), b = resumed.snapshot();
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.options, b.options);
}

INSTANTIATE_TEST_SUITE_P(After, Resumed, testing::Values(0, 1, 2, 17, 31, 59));

TEST(Checkpoint, FollowsNamesNotOrder) {
  const TemporaryDirectory directory;
  Model saved(every_rule());
  saved.train(0, 5);
  save_checkpoint(saved.optimizer(), directory / "a");

  std::vector<Group> groups = every_rule();
  std::swap(groups[0].parameters[0], groups[0].parameters[3]);
  Model loaded(std::move(groups));
  load_checkpoint(loaded.optimizer(), directory / "a");
  save_checkpoint(loaded.optimizer(), directory / "b");
  EXPECT_EQ(read_file(directory / "a"), read_file(directory / "b"));
}

TEST(Checkpoint, KeepsStateThatIsNotFinite) {
  const TemporaryDirectory directory;
  Model saved(tiny());
  auto* momentum = static_cast<float*>(saved.optimizer().state(0, "momentum").data);
  momentum[0] = std::numeric_limits<float>::quiet_NaN();
  momentum[1] = -std::numeric_limits<float>::infinity();
  momentum[2] = -0.0f;
  save_checkpoint(saved.optimizer(), directory / "a");
  Model loaded(tiny());
  load_checkpoint(loaded.optimizer(), directory / "a");
  EXPECT_EQ(loaded.snapshot(), saved.snapshot());
}

TEST(Checkpoint, TakesNamesInAnyScriptAndRefusesBrokenOnes) {
  const TemporaryDirectory directory;
  std::vector<Group> groups = tiny();
  groups[0].parameters[0].name = "слой \"0\"\\/\n";
  Model saved(groups), loaded(groups);
  saved.train(0, 3);
  save_checkpoint(saved.optimizer(), directory / "a");
  load_checkpoint(loaded.optimizer(), directory / "a");
  EXPECT_EQ(loaded.snapshot().state, saved.snapshot().state);

  groups[0].parameters[0].name = "\xff\xfe";
  Model broken(groups);
  EXPECT_THROW(save_checkpoint(broken.optimizer(), directory / "b"), Error);
  EXPECT_EQ(directory.names(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace trasmuon::test
