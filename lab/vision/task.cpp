// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/task.h"

#include <algorithm>
#include <utility>

#include "lab/data/images/mixup.h"
#include "lab/data/sample_random.h"

namespace trasmuon::lab {
namespace {

constexpr std::int64_t kTestBatch = 500;

}  // namespace

VisionTask::VisionTask(const VisionSettings& settings, std::shared_ptr<Images> images, std::uint64_t seed)
    : settings_(settings),
      images_(std::move(images)),
      seed_(seed),
      model_(model_for(settings, images_->shape()), seed) {
  model_.set_recompute(settings.recompute);
}

at::Device VisionTask::device() const { return model_.parameters().front().device(); }

at::Tensor VisionTask::loss(std::int64_t step, int micro_batch) {
  const std::int64_t count = micro_batch_size(settings_.training);
  const std::int64_t first = step * settings_.training.batch + micro_batch * count;
  ImageBatch batch = images_->training_batch(seed_, first, count);
  const at::Tensor weights = mix(batch, static_cast<std::uint64_t>(first));
  const at::Tensor logits = model_.logits(batch.images.to(device())).to(at::kFloat);
  if (!weights.defined()) return at::cross_entropy_loss(logits, batch.labels.to(device()));
  return -(at::log_softmax(logits, 1) * weights.to(device())).sum(1).mean();
}

at::Tensor VisionTask::mix(ImageBatch& batch, std::uint64_t position) const {
  if (settings_.mixup == 0 && settings_.label_smoothing == 0) return {};
  double share = 1;
  if (settings_.mixup > 0) {
    SampleRandom random(~seed_, position);  // not those that augment the images
    share = mixup_share(settings_.mixup, random);
    mix_images({batch.images.data_ptr<float>(), static_cast<std::size_t>(batch.images.numel())}, batch.images.size(0),
               share);
  }
  const std::int64_t classes = model_.config().classes;
  at::Tensor weights = at::empty({batch.labels.size(0), classes});
  label_weights({batch.labels.data_ptr<std::int64_t>(), static_cast<std::size_t>(batch.labels.numel())}, classes,
                settings_.label_smoothing, share,
                {weights.data_ptr<float>(), static_cast<std::size_t>(weights.numel())});
  return weights;
}

Evaluation VisionTask::evaluate() {
  const std::int64_t wanted = settings_.eval_images;
  const std::int64_t all = wanted == 0 ? images_->test_count() : std::min(wanted, images_->test_count());
  double loss = 0, wrong = 0;
  for (std::int64_t first = 0; first < all; first += kTestBatch) {
    const ImageBatch batch = images_->test_batch(first, std::min(kTestBatch, all - first));
    const at::Tensor labels = batch.labels.to(device());
    const at::Tensor logits = model_.logits(batch.images.to(device())).to(at::kFloat);
    loss += at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).item<double>();
    wrong += logits.argmax(1).ne(labels).sum().item<double>();
  }
  return {{"val_loss", loss / static_cast<double>(all)}, {"val_error", wrong / static_cast<double>(all)}};
}

double VisionTask::items_per_micro_batch() const { return micro_batch_size(settings_.training); }

double VisionTask::flops_per_micro_batch() const { return items_per_micro_batch() * model_.flops_per_image(); }

}  // namespace trasmuon::lab
