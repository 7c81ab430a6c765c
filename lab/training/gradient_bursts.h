// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <vector>

#include "lab/training/settings.h"

namespace trasmuon::lab {

/// What one burst did, over all matrices.
struct BurstSeen {
  double size = 0;                                 ///< mean norm of what was added to a column
  double share = 0;                                ///< ||added||_F / ||gradient before||_F
  std::vector<std::vector<std::int64_t>> columns;  ///< [matrix]: the columns that it hit
};

/// The paper's burst operator: in some steps, k columns of each gradient get g_:j += alpha u / (||u|| + eps) with
/// u ~ N(0, I) and alpha = burst_size, or burst_size ||g||_F / sqrt(mn), at most burst_cap. Steps, columns and
/// directions depend on the settings alone, so they are the same for every method and seed.
class GradientBursts {
 public:
  explicit GradientBursts(const TrainingSettings& settings) : settings_(settings) {}

  bool at(int step) const;
  /// Adds the burst of this step to the gradients of matrices, each [out, in].
  BurstSeen apply(int step, const std::vector<at::Tensor>& gradients) const;

 private:
  TrainingSettings settings_;
};

}  // namespace trasmuon::lab
