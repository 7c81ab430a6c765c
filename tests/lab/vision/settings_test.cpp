// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/settings.h"

#include <gtest/gtest.h>

#include "lab/vision/study.h"
#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

std::string refused(const Json& settings, const Options& options = TrasMuonOptions{}) {
  const Study& study = vision_study();
  return test::error_of([&] {
    study.check({.study = "vision", .method = "some", .options = options, .settings = study.complete(settings)});
  });
}

TEST(VisionSettings, BadOnesAreRefusedBeforeTheFirstRun) {
  EXPECT_EQ(refused({{"data", "cifar100"}}), "vision: folder must name where the files of data = cifar100 are, got ''");
  EXPECT_EQ(refused({{"data", "imagenet100"}, {"folder", "f"}}),
            "vision: class_list must name a file with the classes of data = imagenet100, got ''");
  EXPECT_EQ(refused({{"augmentation", "deit"}}),
            "vision: augmentation must be none or crop for data = fashion-mnist, got 'deit'");
  EXPECT_EQ(refused({{"data", "folder"}, {"folder", "f"}, {"class_list", "c"}, {"augmentation", "crop"}}),
            "vision: augmentation must be none or deit for data = folder, got 'crop'");
  EXPECT_EQ(refused({{"patch", 5}}), "vision: model: image_size must be a multiple of patch (5), got 28");
  EXPECT_EQ(refused({{"width", 30}}), "vision: model: width must be a multiple of heads (4), got 30");
  EXPECT_EQ(refused({{"micro_batch", 5}, {"batch", 16}}), "vision: micro_batch must divide batch = 16, got 5");
  EXPECT_EQ(refused({{"damping", "permuted"}}, MuonOptions{}),
            "vision: damping must be columns for a method without damping, got 'permuted'");
  EXPECT_EQ(test::error_of([] {
              vision_study().complete({{"model", "vit"}});
            }),
            "vision: model must be vit-b16, vit-s16, vit-cifar or vit-tiny, got 'vit'");
}

TEST(VisionSettings, TheModelTakesItsInputAndClassesFromTheData) {
  VisionSettings settings;
  settings.data = "cifar10";
  settings.model = "vit-b16";
  settings.patch = 8;
  settings.width = 96;
  settings.layers = 2;
  settings.heads = 3;
  const VisionTransformerConfig model = model_for(settings, known_shape(settings));
  EXPECT_EQ(model.image_size, 32);
  EXPECT_EQ(model.channels, 3);
  EXPECT_EQ(model.classes, 10);
  EXPECT_EQ(model.patch, 8);
  EXPECT_EQ(model.width, 96);
  EXPECT_EQ(model.mlp_width, 4 * 96);
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.heads, 3);
}

TEST(VisionSettings, MemoryGrowsWithTheBatchAndShrinksWithRecomputing) {
  const auto memory = [](const Json& given) { return vision_study().memory(vision_study().complete(given)); };
  const double small = memory({{"batch", 16}}), large = memory({{"batch", 1024}});
  EXPECT_GT(large, small);
  EXPECT_LT(memory({{"batch", 1024}, {"micro_batch", 16}}), 1.01 * small);
  EXPECT_LT(memory({{"batch", 1024}, {"recompute", true}}), large);
}

TEST(VisionSettings, ARunUsesItsThreadsAndAGpuTheWholeMachine) {
  const auto cores = [](const Json& given) { return vision_study().cores(vision_study().complete(given)); };
  EXPECT_EQ(cores({{"threads", 3}}), 3);
  EXPECT_GT(cores({{"device", "cuda"}}), 1000);
}

}  // namespace
}  // namespace trasmuon::lab
