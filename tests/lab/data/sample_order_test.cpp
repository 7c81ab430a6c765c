// SPDX-License-Identifier: Apache-2.0
#include "lab/data/sample_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

std::vector<std::int64_t> epoch_of(const SampleOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < order.count(); ++i) samples.push_back(order[epoch * order.count() + i]);
  return samples;
}

TEST(SampleOrder, EveryEpochHasEverySampleOnce) {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 16, 17, 100, 1023, 1024, 1025}) {
    const SampleOrder order(7, count);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int64_t> samples = epoch_of(order, epoch);
      std::sort(samples.begin(), samples.end());
      for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(samples[static_cast<std::size_t>(i)], i) << count;
    }
  }
}

TEST(SampleOrder, DependsOnSeedAndEpoch) {
  const SampleOrder order(7, 1000);
  EXPECT_EQ(epoch_of(order, 3), epoch_of(SampleOrder(7, 1000), 3));
  EXPECT_NE(epoch_of(order, 3), epoch_of(SampleOrder(8, 1000), 3));
  EXPECT_NE(epoch_of(order, 3), epoch_of(order, 4));
}

TEST(SampleOrder, IsTheSameOnEveryMachine) {  // checkpoints rely on it
  const SampleOrder order(42, 10);
  EXPECT_EQ(epoch_of(order, 0), (std::vector<std::int64_t>{2, 6, 0, 1, 5, 4, 7, 3, 9, 8}));
  EXPECT_EQ(epoch_of(order, 1), (std::vector<std::int64_t>{7, 0, 5, 8, 1, 4, 2, 9, 3, 6}));
}

TEST(SampleOrder, LooksRandom) {
  // A sample's place over many epochs is uniform: the sums have the mean and variance of independent uniform numbers.
  // And neighbours are not related: their correlation is that of chance.
  constexpr std::int64_t kCount = 257, kEpochs = 2000;
  const SampleOrder order(1, kCount);
  double sum = 0, neighbours = 0;
  std::vector<int> first(kCount);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::int64_t at = epoch * kCount;
    ++first[static_cast<std::size_t>(order[at])];
    for (std::int64_t i = 0; i + 1 < 8; ++i) {
      const double a = static_cast<double>(order[at + i]) - 128, b = static_cast<double>(order[at + i + 1]) - 128;
      sum += a;
      neighbours += a * b;
    }
  }
  const double variance = (257.0 * 257 - 1) / 12, draws = 7.0 * kEpochs;
  EXPECT_LT(std::abs(sum / draws), 5 * std::sqrt(variance / draws));
  EXPECT_LT(std::abs(neighbours / draws / variance), 5 / std::sqrt(draws));
  double chi2 = 0;
  for (const int n : first) chi2 += (n - kEpochs / 257.0) * (n - kEpochs / 257.0) / (kEpochs / 257.0);
  EXPECT_LT(std::abs(chi2 - 256), 5 * std::sqrt(2 * 256.0));
}

TEST(SampleOrder, RefusesNoSamples) {
  EXPECT_EQ(test::error_of([] { SampleOrder(1, 0); }), "the number of samples must be > 0, got 0");
}

}  // namespace
}  // namespace trasmuon::lab
