// SPDX-License-Identifier: Apache-2.0
#include "lab/language/task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "token_folder.h"

namespace trasmuon::lab {
namespace {

struct LanguageTaskTest : testing::Test {
  LanguageTaskTest() { write_tokens(folder); }
  LanguageSettings settings(int batch = 8, int micro_batch = 0) {
    return {.model = "gpt2-tiny",
            .data = folder.path(),
            .vocabulary = 257,
            .layers = 2,
            .sequence = 32,
            .eval_sequences = 20,
            .training = {.batch = batch, .micro_batch = micro_batch}};
  }
  test::TemporaryDirectory folder;
};

TEST_F(LanguageTaskTest, StartsNearTheEntropyOfAGuess) {
  LanguageTask task(settings(), 1);
  EXPECT_NEAR(task.loss(0, 0).item<double>(), std::log(257), 0.3);
  EXPECT_NEAR(task.evaluate().at(0).second, std::log(257), 0.3);
  EXPECT_EQ(task.items_per_micro_batch(), 8 * 32);
  EXPECT_GT(task.flops_per_micro_batch(), 6 * 0.4e6 * 8 * 32);
}

TEST_F(LanguageTaskTest, MicroBatchesAreTheBatchInParts) {
  LanguageTask whole(settings(8), 1), parts(settings(8, 2), 1);
  at::NoGradGuard no_grad;
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += parts.loss(5, i).item<double>() / 4;
  EXPECT_NEAR(sum, whole.loss(5, 0).item<double>(), 1e-5);
  EXPECT_EQ(parts.items_per_micro_batch(), 64);
}

TEST_F(LanguageTaskTest, BatchesDependOnSeedAndStep) {
  at::NoGradGuard no_grad;
  LanguageTask a(settings(), 1), b(settings(), 1);
  EXPECT_EQ(a.loss(3, 0).item<double>(), b.loss(3, 0).item<double>());
  EXPECT_NE(a.loss(3, 0).item<double>(), a.loss(4, 0).item<double>());
}

TEST_F(LanguageTaskTest, EvaluationDoesNotDependOnTheBatch) {
  at::NoGradGuard no_grad;
  EXPECT_NEAR(LanguageTask(settings(8), 1).evaluate().at(0).second,
              LanguageTask(settings(3), 1).evaluate().at(0).second, 1e-5);
}

TEST_F(LanguageTaskTest, RecomputingChangesNoGradient) {
  LanguageSettings with = settings();
  with.recompute = true;
  LanguageTask plain(settings(), 1), recomputed(with, 1);
  plain.loss(0, 0).backward();
  recomputed.loss(0, 0).backward();
  const auto a = plain.model().parameters(), b = recomputed.model().parameters();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::allclose(a[i].grad(), b[i].grad(), 1e-4, 1e-7)) << i;
}

}  // namespace
}  // namespace trasmuon::lab
