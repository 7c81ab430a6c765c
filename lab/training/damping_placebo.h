// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/libtorch/optimizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace trasmuon::lab {

/// Returns the damping c of the last step of one matrix under TrasMuon, [in]; undefined for other rules.
at::Tensor damping_of(libtorch::Optimizer& optimizer, const at::Tensor& matrix);

/// A control of TrasMuon's damping. The optimizer damps column j of its update by c_j, which depends on the momentum
/// alone. Afterwards this replaces c_j by that of another column (a fixed permutation: the placebo), or by the mean of
/// c (only a smaller step), and leaves the optimizer's state as it is.
class DampingPlacebo {
 public:
  enum class Kind { none, permuted, mean };

  /// `matrices` are [out, in], under one group of the optimizer. The permutations come from the seed.
  DampingPlacebo(Kind kind, std::vector<at::Tensor> matrices, std::uint64_t seed);
  static Kind kind_of(const std::string& setting);  ///< "columns" is none

  void before_step();
  /// `kept` is the factor 1 - lr weight_decay that the step multiplied the weights by.
  void after_step(libtorch::Optimizer& optimizer, double kept);

 private:
  Kind kind_;
  std::vector<at::Tensor> matrices_, before_, columns_;
};

}  // namespace trasmuon::lab
