// SPDX-License-Identifier: Apache-2.0
#include "lab/language/task.h"

#include <algorithm>
#include <span>

#include "lab/language/text.h"
#include "lab/training/precision.h"

namespace trasmuon::lab {
namespace {

TokenBatchShape shape_of(const LanguageSettings& settings) {
  return {.sequences = micro_batch_size(settings.training),
          .length = settings.sequence,
          .micro_batches = micro_batches(settings.training)};
}

std::span<std::int64_t> values_of(at::Tensor& tokens) {
  return {tokens.data_ptr<std::int64_t>(), static_cast<std::size_t>(tokens.numel())};
}

}  // namespace

LanguageTask::LanguageTask(const LanguageSettings& settings, std::uint64_t seed)
    : settings_(settings),
      device_(training_device(settings.training)),
      train_(open_text(settings, "train")),
      val_(open_text(settings, "val")),
      batches_(train_, shape_of(settings), seed),
      model_(make_language_model(model_config(settings), seed)) {
  model_->set_recompute(settings.recompute);
  model_->to(device_);
}

at::Tensor LanguageTask::loss(std::int64_t step, int micro_batch) {
  const TokenBatchShape shape = shape_of(settings_);
  at::Tensor inputs = at::empty({shape.sequences, shape.length}, at::kLong), targets = at::empty_like(inputs);
  batches_.read(step, micro_batch, values_of(inputs), values_of(targets));
  return model_->loss(inputs.to(device_), targets.to(device_));
}

Evaluation LanguageTask::evaluate() {
  const std::int64_t length = settings_.sequence, at_once = micro_batch_size(settings_.training);
  const std::int64_t count = std::min<std::int64_t>(settings_.eval_sequences, sequence_count(val_, length));
  double sum = 0;
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t rows = std::min(at_once, count - first);
    at::Tensor inputs = at::empty({rows, length}, at::kLong), targets = at::empty_like(inputs);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto part = [&](at::Tensor& all) { return values_of(all).subspan(row * length, length); };
      read_sequence(val_, first + row, part(inputs), part(targets));
    }
    sum += static_cast<double>(rows) * model_->loss(inputs.to(device_), targets.to(device_)).item<double>();
  }
  return {{"val_loss", sum / static_cast<double>(count)}};
}

double LanguageTask::items_per_micro_batch() const {
  return static_cast<double>(micro_batch_size(settings_.training)) * settings_.sequence;
}

double LanguageTask::flops_per_micro_batch() const {
  return items_per_micro_batch() * model_->flops_per_token(settings_.sequence);
}

}  // namespace trasmuon::lab
