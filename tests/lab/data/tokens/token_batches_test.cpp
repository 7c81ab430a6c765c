// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/token_batches.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

/// The tokens 0, 1, 2, ...: a token tells its position.
TokenStream counting(std::size_t tokens) {
  std::vector<std::uint16_t> all(tokens);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return TokenStream(std::move(all));
}

std::vector<std::int64_t> inputs_of(const TokenBatches& batches, std::int64_t step, std::int64_t micro_batch,
                                    std::size_t tokens) {
  std::vector<std::int64_t> inputs(tokens), targets(tokens);
  batches.read(step, micro_batch, inputs, targets);
  for (std::size_t i = 0; i < tokens; ++i) EXPECT_EQ(targets[i], inputs[i] + 1);
  return inputs;
}

TEST(TokenBatches, EpochsHaveEverySequenceOnce) {
  const TokenStream stream = counting(10 * 12 + 1);  // 12 sequences of 10 tokens
  const TokenBatches batches(stream, {.sequences = 2, .length = 10, .micro_batches = 3}, 5);
  ASSERT_EQ(batches.sequences_per_epoch(), 12);
  std::vector<std::vector<std::int64_t>> epochs;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::set<std::int64_t> seen;
    for (std::int64_t step = 2 * epoch; step < 2 * epoch + 2; ++step) {
      for (std::int64_t micro_batch = 0; micro_batch < 3; ++micro_batch) {
        const std::vector<std::int64_t> inputs = inputs_of(batches, step, micro_batch, 20);
        for (std::size_t i = 0; i < 20; ++i) {
          EXPECT_EQ(inputs[i] % 10, static_cast<std::int64_t>(i % 10));  // sequences begin at multiples of the length
          EXPECT_TRUE(seen.insert(inputs[i]).second) << inputs[i];
        }
      }
    }
    EXPECT_EQ(seen.size(), 120u);
  }
}

TEST(TokenBatches, DependOnSeedStepAndMicroBatchOnly) {
  const TokenStream stream = counting(5001);
  const TokenBatchShape shape{.sequences = 4, .length = 10, .micro_batches = 2};
  const TokenBatches batches(stream, shape, 5);
  const auto late = inputs_of(batches, 1000, 1, 40);
  EXPECT_EQ(late, inputs_of(TokenBatches(stream, shape, 5), 1000, 1, 40));  // without those before
  EXPECT_NE(late, inputs_of(TokenBatches(stream, shape, 6), 1000, 1, 40));
  EXPECT_NE(late, inputs_of(batches, 1000, 0, 40));
}

TEST(TokenBatches, TheStepsBatchDoesNotDependOnItsDivision) {
  const TokenStream stream = counting(5001);
  const TokenBatches whole(stream, {.sequences = 8, .length = 10, .micro_batches = 1}, 5);
  const TokenBatches parts(stream, {.sequences = 2, .length = 10, .micro_batches = 4}, 5);
  std::vector<std::int64_t> joined;
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto part = inputs_of(parts, 33, i, 20);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, inputs_of(whole, 33, 0, 80));
}

TEST(TokenBatches, CountSequencesWithTheirTargets) {
  EXPECT_EQ(sequence_count(counting(11), 10), 1);
  EXPECT_EQ(sequence_count(counting(10), 10), 0);
  EXPECT_EQ(sequence_count(counting(0), 10), 0);
  EXPECT_EQ(sequence_count(counting(21), 10), 2);
}

TEST(TokenBatches, RefuseBadShapes) {
  const TokenStream stream = counting(10);
  const auto refused = [&](const TokenBatchShape& shape) {
    return test::error_of([&] { TokenBatches(stream, shape, 1); });
  };
  EXPECT_EQ(refused({.sequences = 0, .length = 4}), "sequences of a token batch must be > 0, got 0");
  EXPECT_EQ(refused({.sequences = 1, .length = -1}), "length of a token batch must be > 0, got -1");
  EXPECT_EQ(refused({.sequences = 1, .length = 10}), "a sequence of length 10 needs 11 tokens, the data has 10");
  const TokenBatches batches(stream, {.sequences = 1, .length = 4, .micro_batches = 2}, 1);
  std::vector<std::int64_t> inputs(4), targets(3);
  EXPECT_EQ(test::error_of([&] { batches.read(0, 2, inputs, targets); }),
            "step must be >= 0 and the micro-batch in [0, 2), got 0 and 2");
  EXPECT_EQ(test::error_of([&] { batches.read(0, 0, inputs, targets); }),
            "inputs and targets of a micro-batch must have 4 tokens, got 4 and 3");
}

}  // namespace
}  // namespace trasmuon::lab
