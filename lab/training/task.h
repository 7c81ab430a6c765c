// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trasmuon::lab {

/// Results of an evaluation by name, in the order of a table's columns: {"val_loss", 3.2}. The names are the same in
/// every evaluation, and less is better: an error rate, not an accuracy.
using Evaluation = std::vector<std::pair<std::string, double>>;

/// A model and its data, as the training loop sees them.
///
/// A batch is a function of the run's seed, the step and the micro-batch's number in it. So the step is the whole
/// position in the data, and a run that continues from a checkpoint sees the same batches. Torch's random numbers
/// (dropout) are seeded anew in every step.
class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;

  /// Returns the mean loss of one micro-batch, a scalar that can be differentiated. The model is in training mode.
  virtual at::Tensor loss(std::int64_t step, int micro_batch) = 0;

  /// Evaluates on held-out data, with the model in evaluation mode and without gradients.
  virtual Evaluation evaluate() = 0;

  virtual double items_per_micro_batch() const = 0;  ///< tokens or images
  virtual double flops_per_micro_batch() const = 0;  ///< of the model's forward and backward pass
};

}  // namespace trasmuon::lab
