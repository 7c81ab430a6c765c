// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "lab/models/vision_transformer.h"
#include "lab/training/task.h"
#include "lab/vision/images.h"
#include "lab/vision/settings.h"

namespace trasmuon::lab {

/// A vision transformer that learns to name what is in an image. Evaluations are "val_loss", the mean cross entropy of
/// test images, and "val_error", the share of them whose likeliest class is wrong.
class VisionTask final : public Task {
 public:
  VisionTask(const VisionSettings& settings, std::shared_ptr<Images> images, std::uint64_t seed);

  torch::nn::Module& model() override { return model_; }
  at::Tensor loss(std::int64_t step, int micro_batch) override;
  Evaluation evaluate() override;
  double items_per_micro_batch() const override;
  double flops_per_micro_batch() const override;

 private:
  at::Device device() const;
  /// Applies Mixup and label smoothing; returns the weights of the classes, [count, classes], undefined without either.
  at::Tensor mix(ImageBatch& batch, std::uint64_t position) const;

  VisionSettings settings_;
  std::shared_ptr<Images> images_;
  std::uint64_t seed_;
  VisionTransformer model_;
};

}  // namespace trasmuon::lab
