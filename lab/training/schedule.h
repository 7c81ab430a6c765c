// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon::lab {

/// A warmup-stable-decay schedule of the learning rate; shares are of all steps.
struct Schedule {
  int steps = 1;
  double warmup = 0.1;  ///< share with a linear rise; 0: none
  double decay = 0.2;   ///< share with a linear fall to zero

  /// Returns the factor on the learning rate in step 0, 1, ..., steps - 1. Warm-up of n steps rises by 1/n per step and
  /// reaches 1 in its last step; decay of n steps falls by 1/(n + 1) per step, so that the last step still learns.
  double factor(int step) const;
};

}  // namespace trasmuon::lab
