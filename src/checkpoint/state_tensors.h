// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trasmuon/optimizer.h"

namespace trasmuon {

/// A tensor of the optimizer's state.
struct NamedState {
  std::string name;  ///< "<parameter>/<state>"
  DType dtype;
  Shape shape;
  std::size_t bytes;
  std::size_t parameter;  ///< and `state`: arguments of read_state() and write_state()
  std::string state;
};

/// Returns all state in the order of a file: wide elements first, so that every tensor is aligned
/// without gaps, then by name.
std::vector<NamedState> state_tensors(const Optimizer& optimizer);

std::vector<std::byte> contents(const Optimizer& optimizer, const NamedState& tensor);

}  // namespace trasmuon
