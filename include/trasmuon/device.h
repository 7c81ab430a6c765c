// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "trasmuon/export.h"

namespace trasmuon {

/// Where a parameter, its gradient and its state are stored.
struct Device {
  enum class Type : std::uint8_t { cpu, cuda };
  Type type = Type::cpu;
  int index = 0;

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int index = 0) { return {Type::cuda, index}; }
  auto operator<=>(const Device&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

TRASMUON_API std::string to_string(Device device);  ///< "cpu", "cuda:0"

/// Returns "" if parameters on this device can be stepped, otherwise the reason why not. CUDA
/// needs a GPU, and libtrasmuon_cuda.so beside the library or on the loader's path.
TRASMUON_API std::string why_unusable(Device device);

}  // namespace trasmuon
