// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/memory.h"
#include "trasmuon/tensor.h"

namespace trasmuon::test {

/// The largest |ours - theirs| over the largest |theirs|, over all tensors of a file.
struct Deviation {
  double worst = 0;
  std::string where = "nothing compared";
  int compared = 0;

  void include(double value, const std::string& place);
  void include(const Deviation& other);
};

/// Replays one file of golden vectors in f64 or f32: a trajectory, the baselines or the
/// Newton-Schulz cases. Throws on files that are none of these.
Deviation replay_golden(const std::string& path, DType dtype, Memory& memory);
Deviation replay_golden(const std::string& path, DType dtype);  ///< on the CPU

/// Returns how far a replay may deviate: the rounding of the type, with room for another order of summation.
constexpr double golden_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-9 : 1e-4; }

}  // namespace trasmuon::test
