// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "lab/vision/images.h"
#include "lab/vision/tiny_images.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

constexpr int kTraining = 50, kTest = 30;

struct Opened {
  test::TemporaryDirectory folder;
  std::unique_ptr<Images> images;

  explicit Opened(const std::string& augmentation = "none") {
    write_tiny_mnist(folder.path(), kTraining, kTest);
    VisionSettings settings = tiny_settings(folder.path());
    settings.augmentation = augmentation;
    images = open_images(settings);
  }
};

/// What tells an image from the others.
std::set<double> sums_of(const at::Tensor& images) {
  std::set<double> sums;
  for (std::int64_t i = 0; i < images.size(0); ++i) sums.insert(images[i].to(at::kDouble).sum().item<double>());
  return sums;
}

TEST(SetImages, HaveTheShapeOfTheData) {
  const Opened opened;
  EXPECT_EQ(opened.images->training_count(), kTraining);
  EXPECT_EQ(opened.images->test_count(), kTest);
  EXPECT_EQ(opened.images->shape().channels, 1);
  EXPECT_EQ(opened.images->shape().size, 28);
  EXPECT_EQ(opened.images->shape().classes, 10);
}

TEST(SetImages, EveryEpochHasEachImageOnceInItsOwnOrder) {
  const Opened opened;
  const ImageBatch first = opened.images->training_batch(1, 0, kTraining);
  const ImageBatch second = opened.images->training_batch(1, kTraining, kTraining);
  const ImageBatch other_seed = opened.images->training_batch(2, 0, kTraining);
  EXPECT_EQ(sums_of(first.images).size(), static_cast<std::size_t>(kTraining));
  EXPECT_EQ(sums_of(first.images), sums_of(second.images));
  EXPECT_FALSE(at::equal(first.images, second.images));
  EXPECT_FALSE(at::equal(first.images, other_seed.images));
  EXPECT_TRUE(at::equal(first.labels.bincount(), at::full({10}, kTraining / 10, at::kLong)));
}

TEST(SetImages, ABatchIsAFunctionOfSeedAndPosition) {
  const Opened opened("crop");
  const ImageBatch whole = opened.images->training_batch(3, 40, 30);  // over the end of an epoch
  const ImageBatch part = opened.images->training_batch(3, 55, 10);
  EXPECT_TRUE(at::equal(whole.images.narrow(0, 15, 10), part.images));
  EXPECT_TRUE(at::equal(whole.labels.narrow(0, 15, 10), part.labels));
}

TEST(SetImages, AreNormalizedOverTheTrainingSet) {
  const Opened opened;
  const at::Tensor all = opened.images->training_batch(1, 0, kTraining).images;
  EXPECT_NEAR(all.mean().item<double>(), 0, 1e-4);
  EXPECT_NEAR(all.std().item<double>(), 1, 1e-3);
}

TEST(SetImages, CroppingShiftsTrainingImagesOnly) {
  const Opened plain, cropped("crop");
  EXPECT_TRUE(at::equal(plain.images->test_batch(0, kTest).images, cropped.images->test_batch(0, kTest).images));
  const at::Tensor before = plain.images->training_batch(1, 0, kTraining).images;
  const at::Tensor after = cropped.images->training_batch(1, 0, kTraining).images;
  EXPECT_FALSE(at::equal(before, after));
  // The middle of every image is the original, shifted by at most 28 / 8 = 3 pixels, and not mirrored: it is grey.
  for (std::int64_t i = 0; i < kTraining; ++i) {
    const at::Tensor middle = after[i][0].slice(0, 3, 25).slice(1, 3, 25);
    bool found = false;
    for (std::int64_t y = 0; y <= 6 && !found; ++y)
      for (std::int64_t x = 0; x <= 6 && !found; ++x)
        found = at::equal(middle, before[i][0].slice(0, y, y + 22).slice(1, x, x + 22));
    EXPECT_TRUE(found) << "image " << i;
  }
}

}  // namespace
}  // namespace trasmuon::lab
