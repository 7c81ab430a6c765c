// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "lab/data/tokens/token_batches.h"
#include "lab/language/settings.h"
#include "lab/models/language_model.h"
#include "lab/training/task.h"

namespace trasmuon::lab {

/// A language model on token files: the seed determines its start and the order of the sequences.
class LanguageTask final : public Task {
 public:
  LanguageTask(const LanguageSettings& settings, std::uint64_t seed);

  torch::nn::Module& model() override { return *model_; }
  at::Tensor loss(std::int64_t step, int micro_batch) override;
  /// "val_loss": mean cross entropy in nats over the first sequences of the validation files.
  Evaluation evaluate() override;
  double items_per_micro_batch() const override;
  double flops_per_micro_batch() const override;

 private:
  LanguageSettings settings_;
  at::Device device_;
  TokenStream train_, val_;
  TokenBatches batches_;
  std::shared_ptr<LanguageModel> model_;
};

}  // namespace trasmuon::lab
