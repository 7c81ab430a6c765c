// SPDX-License-Identifier: Apache-2.0
#include "lab/training/settings.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

std::string refusal(const TrainingSettings& settings, const Options& options = MuonOptions{}) {
  return test::error_of([&] { check_training(settings, options, "language"); });
}

TEST(TrainingSettings, RefuseWhatContradictsItself) {
  EXPECT_EQ(refusal({}), "no error");
  EXPECT_EQ(refusal({.batch = 16, .micro_batch = 5}), "language: micro_batch must divide batch = 16, got 5");
  EXPECT_EQ(refusal({.batch = 16, .micro_batch = 32}), "language: micro_batch must divide batch = 16, got 32");
  EXPECT_EQ(refusal({.batch = 16, .ranks = 4}), "no error");
  EXPECT_EQ(refusal({.batch = 16, .ranks = 3}), "language: ranks must divide batch = 16, got 3");
  EXPECT_EQ(refusal({.batch = 16, .micro_batch = 8, .ranks = 4}),
            "language: ranks must divide the 2 micro-batches of a step, got 4");
  EXPECT_EQ(refusal({.warmup_share = 0.5, .decay_share = 0.6}),
            "language: warmup_share + decay_share must be <= 1, got 0.5 + 0.6");
  EXPECT_EQ(refusal({.precision = "tf32"}), "language: precision must be f32 or bf16 with device = cpu, got 'tf32'");
  EXPECT_EQ(refusal({.update_rms = 1, .diagnostics_every = 0}),
            "language: diagnostics_every must be >= 1 with update_rms, got 0");
}

TEST(TrainingSettings, GiveAPlaceboOnlyToARuleThatDamps) {
  const TrainingSettings placebo{.damping = "permuted"};
  EXPECT_EQ(refusal(placebo, TrasMuonOptions{}), "no error");
  const std::string expected = "language: damping must be columns for a method without damping, got 'permuted'";
  EXPECT_EQ(refusal(placebo, MuonOptions{}), expected);
  EXPECT_EQ(refusal(placebo, TrasMuonOptions{.clip = Clip::none}), expected);
}

TEST(TrainingSettings, CountMicroBatches) {
  EXPECT_EQ(micro_batches({.batch = 16}), 1);
  EXPECT_EQ(micro_batch_size({.batch = 16}), 16);
  EXPECT_EQ(micro_batches({.batch = 16, .micro_batch = 4}), 4);
  EXPECT_EQ(micro_batch_size({.batch = 16, .micro_batch = 4}), 4);
  EXPECT_EQ(micro_batches({.batch = 16, .ranks = 4}), 4);
  EXPECT_EQ(micro_batch_size({.batch = 16, .ranks = 4}), 4);
  EXPECT_EQ(micro_batches({.batch = 16, .micro_batch = 2, .ranks = 4}), 8);
}

}  // namespace
}  // namespace trasmuon::lab
