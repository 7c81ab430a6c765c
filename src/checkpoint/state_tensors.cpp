// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_tensors.h"

#include <algorithm>

namespace trasmuon {

std::vector<NamedState> state_tensors(const Optimizer& optimizer) {
  std::vector<NamedState> list;
  for (std::size_t i = 0; i < optimizer.parameter_count(); ++i) {
    for (const auto& [spec, view] : optimizer.state(i)) {
      const std::size_t bytes = static_cast<std::size_t>(spec.shape.elements()) * size_of(spec.dtype);
      list.push_back({optimizer.parameter(i).name + "/" + spec.name, spec.dtype, spec.shape, bytes, i, spec.name});
    }
  }
  std::sort(list.begin(), list.end(), [](const NamedState& a, const NamedState& b) {
    const std::size_t a_width = size_of(a.dtype), b_width = size_of(b.dtype);
    return a_width != b_width ? a_width > b_width : a.name < b.name;
  });
  return list;
}

std::vector<std::byte> contents(const Optimizer& optimizer, const NamedState& tensor) {
  std::vector<std::byte> bytes(tensor.bytes);
  optimizer.read_state(tensor.parameter, tensor.state, bytes.data());
  return bytes;
}

}  // namespace trasmuon
