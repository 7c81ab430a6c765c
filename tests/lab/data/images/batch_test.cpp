// SPDX-License-Identifier: Apache-2.0
// What is done to batches of normalized images and their labels.
#include <gtest/gtest.h>

#include <cmath>

#include "lab/data/images/mixup.h"
#include "lab/data/images/normalize.h"
#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

TEST(Normalize, IsTheFormula) {
  Image image(2, 1, 3);
  image.pixels = {0, 255, 51, 10, 20, 30};
  std::vector<float> out(6);
  normalize(image, {{0.5F, 0.1F}, {0.25F, 2.0F}}, out);
  for (std::size_t i = 0; i < 6; ++i) {
    const double mean = i < 3 ? 0.5 : 0.1, deviation = i < 3 ? 0.25 : 2;
    EXPECT_NEAR(out[i], (image.pixels[i] / 255.0 - mean) / deviation, 1e-6);
  }
}

TEST(EraseRandomly, ErasesOneRectangleWithNoise) {
  constexpr int kSide = 32;
  int erased = 0;
  double areas = 0;
  for (std::uint64_t sample = 0; sample < 400; ++sample) {
    SampleRandom random(4, sample);
    std::vector<float> image(3 * kSide * kSide, 100);
    erase_randomly(image, 3, kSide, kSide, {}, random);
    int top = kSide, left = kSide, bottom = -1, right = -1, count = 0;
    for (int i = 0; i < 3 * kSide * kSide; ++i) {
      if (image[static_cast<std::size_t>(i)] == 100) continue;
      const int y = i / kSide % kSide, x = i % kSide;
      top = std::min(top, y), left = std::min(left, x), bottom = std::max(bottom, y), right = std::max(right, x);
      ++count;
    }
    if (count == 0) continue;
    ++erased;
    ASSERT_EQ(count, 3 * (bottom - top + 1) * (right - left + 1));
    areas += count / 3.0 / kSide / kSide;
  }
  EXPECT_NEAR(erased, 100, 45);  // probability 0.25
  EXPECT_NEAR(areas / erased, (0.02 + 1.0 / 3) / 2, 0.05);
}

TEST(Mixup, SharesFollowTheBetaDistribution) {
  for (const double alpha : {0.2, 0.8, 1.0, 3.0}) {
    SampleRandom random(6);
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double share = mixup_share(alpha, random);
      ASSERT_TRUE(share >= 0 && share <= 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.015);
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * alpha + 1)), 0.005);  // the variance of Beta(alpha, alpha)
  }
}

TEST(Mixup, MixesImagesWithTheReversedBatch) {
  for (const std::int64_t count : {1, 2, 5}) {
    std::vector<float> batch;
    for (std::int64_t i = 0; i < count * 3; ++i) batch.push_back(static_cast<float>(i * i));
    std::vector<float> mixed = batch;
    mix_images(mixed, count, 0.3);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t k = 0; k < 3; ++k) {
        const double mine = batch[static_cast<std::size_t>(3 * i + k)];
        const double other = batch[static_cast<std::size_t>(3 * (count - 1 - i) + k)];
        EXPECT_NEAR(mixed[static_cast<std::size_t>(3 * i + k)], 0.3 * mine + 0.7 * other, 1e-4);
      }
    }
  }
}

TEST(LabelWeights, AreSmoothedAndMixed) {
  const std::vector<std::int64_t> labels = {2, 0, 1};
  std::vector<float> weights(12);
  label_weights(labels, 4, 0, 1, weights);
  EXPECT_EQ(weights, (std::vector<float>{0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0}));
  label_weights(labels, 4, 0.1, 0.7, weights);
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      const double mine = static_cast<double>(labels[i]) == static_cast<double>(c);
      const double other = static_cast<double>(labels[2 - i]) == static_cast<double>(c);
      EXPECT_NEAR(weights[4 * i + c], 0.9 * (0.7 * mine + 0.3 * other) + 0.025, 1e-6);
      sum += weights[4 * i + c];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(LabelWeights, RefuseLabelsOutOfRange) {
  std::vector<float> weights(8);
  const std::vector<std::int64_t> labels = {0, 4};
  EXPECT_EQ(test::error_of([&] { label_weights(labels, 4, 0, 1, weights); }), "labels must be in [0, 4), label 1 is 4");
}

}  // namespace
}  // namespace trasmuon::lab
