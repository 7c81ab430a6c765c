// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trasmuon/optimizer.h"

namespace trasmuon {

/// A tensor of the optimizer's state as it lies in memory.
struct NamedState {
  std::string name;  ///< "<parameter>/<state>"
  DType dtype;
  Shape shape;
  std::span<std::byte> bytes;
};

/// All state, in the order of a file: wide elements first, which keeps every tensor
/// aligned without gaps, then by name.
std::vector<NamedState> state_tensors(const Optimizer& optimizer);

}  // namespace trasmuon
