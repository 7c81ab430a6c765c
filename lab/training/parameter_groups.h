// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/libtorch/groups.h>

#include <vector>

#include "lab/training/settings.h"

namespace trasmuon::lab {

/// Makes the groups of a training run: hidden matrices, first, with the method's options; embeddings and head; norms
/// and biases. The latter two are trained by one AdamW setting in all runs, so that methods differ in the matrices.
std::vector<libtorch::OptimizerParamGroup> training_groups(const torch::nn::Module& model, const Options& method,
                                                           const TrainingSettings& settings);

}  // namespace trasmuon::lab
