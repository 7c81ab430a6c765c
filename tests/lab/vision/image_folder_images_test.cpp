// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "lab/data/images/crop.h"
#include "lab/data/images/decode.h"
#include "lab/data/images/normalize.h"
#include "lab/vision/data_check.h"
#include "lab/vision/images.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kSize = 224;

/// Two classes with the pictures of the decoder's tests: four to train, three to test.
struct Folder {
  test::TemporaryDirectory path;
  VisionSettings settings;

  explicit Folder(const std::string& augmentation = "none") {
    for (const char* file : {"train/cat/rgb.jpg", "train/cat/grey.jpg", "train/dog/rgb.png",
                             "train/dog/progressive.jpg", "val/cat/rgb.jpg", "val/cat/grey.png", "val/dog/rgb.png"}) {
      fs::create_directories(fs::path(path / file).parent_path());
      fs::copy_file(fs::path(TRASMUON_TEST_IMAGES) / fs::path(file).filename(), path / file);
    }
    test::write_file(path / "classes.txt", "dog\ncat\n");
    settings.data = "folder";
    settings.folder = path.path();
    settings.class_list = path / "classes.txt";
    settings.model = "vit-s16";
    settings.augmentation = augmentation;
  }
};

TEST(FolderImages, HaveTheModelsSizeAndTheClassesOfTheList) {
  const Folder folder;
  const auto images = open_images(folder.settings);
  EXPECT_EQ(images->training_count(), 4);
  EXPECT_EQ(images->test_count(), 3);
  EXPECT_EQ(images->shape().channels, 3);
  EXPECT_EQ(images->shape().size, kSize);
  EXPECT_EQ(images->shape().classes, 2);
}

TEST(FolderImages, TestImagesAreTheirCentreView) {
  const Folder folder;
  const auto images = open_images(folder.settings);
  for (int repeat = 0; repeat < 2; ++repeat) {  // a second evaluation starts anew
    const ImageBatch first = images->test_batch(0, 2), last = images->test_batch(2, 1);
    EXPECT_TRUE(at::equal(first.labels, torch::tensor({0, 1}, at::kLong)));  // dog/rgb.png, then the cats
    const Image view = centre_view(read_image(folder.path / "val/dog/rgb.png"), kSize);
    at::Tensor expected = at::empty({3, kSize, kSize});
    normalize(view, imagenet_statistics(), {expected.data_ptr<float>(), static_cast<std::size_t>(expected.numel())});
    EXPECT_TRUE(at::equal(first.images[0], expected));
    EXPECT_EQ(last.labels.item<std::int64_t>(), 1);
  }
}

TEST(FolderImages, ATrainingBatchIsAFunctionOfSeedAndPosition) {
  const Folder folder("deit");
  const auto one = open_images(folder.settings), other = open_images(folder.settings);
  const ImageBatch whole = one->training_batch(5, 0, 8);
  other->training_batch(6, 0, 3);
  const ImageBatch part = other->training_batch(5, 3, 4);  // after a jump, as when a run continues
  EXPECT_TRUE(at::equal(whole.images.narrow(0, 3, 4), part.images));
  EXPECT_TRUE(at::equal(whole.labels.narrow(0, 3, 4), part.labels));
  EXPECT_EQ(whole.labels.narrow(0, 0, 4).sum().item<std::int64_t>(), 2);  // an epoch has each image once
  EXPECT_TRUE(whole.images.isfinite().all().item<bool>());
}

TEST(FolderImages, RanksSeeTheirSharesOfABatch) {
  Folder folder("deit");
  folder.settings.training.batch = 4;
  const auto all = open_images(folder.settings);
  folder.settings.training.ranks = 2;
  for (const int rank : {0, 1}) {
    const auto share = open_images(folder.settings);
    for (const int step : {0, 1, 2}) {
      const int first = 4 * step + 2 * rank;
      EXPECT_TRUE(at::equal(share->training_batch(5, first, 2).images, all->training_batch(5, first, 2).images));
    }
  }
}

TEST(FolderImages, AugmentationIsForTrainingOnly) {
  const Folder plain, augmented("deit");
  EXPECT_TRUE(at::equal(open_images(plain.settings)->test_batch(0, 3).images,
                        open_images(augmented.settings)->test_batch(0, 3).images));
  const ImageBatch before = open_images(plain.settings)->training_batch(5, 0, 4);
  const ImageBatch after = open_images(augmented.settings)->training_batch(5, 0, 4);
  EXPECT_TRUE(at::equal(before.labels, after.labels));
  EXPECT_FALSE(at::equal(before.images, after.images));
}

TEST(FolderImages, Imagenet100IsCountedAndChecked) {
  Folder folder;
  EXPECT_NO_THROW(check_images(folder.settings));
  folder.settings.data = "imagenet100";
  const std::string error = test::error_of([&] { check_images(folder.settings); });
  EXPECT_NE(error.find("732"), std::string::npos) << error;  // the fewest images of a class of ILSVRC-2012
}

TEST(FolderImages, MissingFilesAreNamed) {
  Folder folder;
  fs::remove_all(folder.path / "val/dog");
  EXPECT_NE(test::error_of([&] { check_images(folder.settings); }).find("dog"), std::string::npos);
  folder.settings.class_list = "nowhere.txt";
  EXPECT_NE(test::error_of([&] { check_images(folder.settings); }).find("nowhere.txt"), std::string::npos);
}

}  // namespace
}  // namespace trasmuon::lab
