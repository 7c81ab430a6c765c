// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/vision/tiny_images.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

struct Tasks {
  test::TemporaryDirectory folder;
  VisionSettings settings;

  Tasks() {
    write_tiny_mnist(folder.path(), 100, 70);
    settings = tiny_settings(folder.path());
  }
  VisionTask make(std::uint64_t seed = 4) const { return {settings, open_images(settings), seed}; }
};

TEST(VisionTask, MicroBatchesAreTheBatch) {
  Tasks tasks;
  VisionTask whole = tasks.make();
  tasks.settings.training.micro_batch = 5;
  VisionTask parts = tasks.make();
  EXPECT_EQ(whole.items_per_micro_batch(), 20);
  EXPECT_EQ(parts.items_per_micro_batch(), 5);
  EXPECT_DOUBLE_EQ(whole.flops_per_micro_batch(), 4 * parts.flops_per_micro_batch());
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += parts.loss(3, i).item<double>();
  EXPECT_NEAR(whole.loss(3, 0).item<double>(), sum / 4, 1e-5);
  EXPECT_NE(whole.loss(3, 0).item<double>(), whole.loss(4, 0).item<double>());
  tasks.settings.training.micro_batch = 0;
  EXPECT_EQ(whole.loss(3, 0).item<double>(), tasks.make().loss(3, 0).item<double>());
}

TEST(VisionTask, SmoothedLabelsAreThoseOfTorch) {
  Tasks tasks;
  tasks.settings.label_smoothing = 0.1;
  VisionTask task = tasks.make();
  auto& model = dynamic_cast<VisionTransformer&>(task.model());
  const ImageBatch batch = open_images(tasks.settings)->training_batch(4, 40, 20);
  const at::Tensor expected =
      at::cross_entropy_loss(model.logits(batch.images), batch.labels, {}, at::Reduction::Mean, -100, 0.1);
  EXPECT_NEAR(task.loss(2, 0).item<double>(), expected.item<double>(), 1e-5);
}

TEST(VisionTask, MixupChangesTheLossAndRepeats) {
  Tasks tasks;
  const double plain = tasks.make().loss(0, 0).item<double>();
  tasks.settings.mixup = 0.8;
  const double mixed = tasks.make().loss(0, 0).item<double>();
  EXPECT_NE(mixed, plain);
  EXPECT_EQ(mixed, tasks.make().loss(0, 0).item<double>());
}

TEST(VisionTask, EvaluatesAllTestImages) {
  Tasks tasks;
  VisionTask task = tasks.make();
  at::NoGradGuard no_grad;
  auto& model = dynamic_cast<VisionTransformer&>(task.model());
  const ImageBatch all = open_images(tasks.settings)->test_batch(0, 70);
  const at::Tensor logits = model.logits(all.images);
  const Evaluation found = task.evaluate();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, "val_loss");
  EXPECT_NEAR(found[0].second, at::cross_entropy_loss(logits, all.labels).item<double>(), 1e-5);
  EXPECT_EQ(found[1].first, "val_error");
  EXPECT_DOUBLE_EQ(found[1].second, logits.argmax(1).ne(all.labels).sum().item<double>() / 70);

  tasks.settings.eval_images = 30;
  const double first = tasks.make().evaluate()[1].second;
  EXPECT_DOUBLE_EQ(first, logits.argmax(1).ne(all.labels).narrow(0, 0, 30).sum().item<double>() / 30);
}

}  // namespace
}  // namespace trasmuon::lab
