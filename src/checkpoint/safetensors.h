// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trasmuon/tensor.h"

// The safetensors format: eight bytes with the length of the header (little-endian),
// the header in JSON, the tensors' bytes without gaps.
namespace trasmuon::safetensors {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  ///< as other readers have it

struct Tensor {
  std::string dtype;  ///< "F64", "F32", "I64", ... unknown ones are kept
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< in bytes from the start of the data
  std::uint64_t end = 0;
};

struct Header {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
};

const char* dtype_name(DType dtype);

/// The header as JSON, without length and padding: equal headers give equal text.
std::string header_json(const Header& header);

/// Length, JSON and the blanks that bring the data to a multiple of eight bytes.
std::string encode(const Header& header);

/// Reads the JSON; throws Error unless it has the format's form and the tensors cover
/// `data_bytes` exactly.
Header decode(std::string_view text, std::uint64_t data_bytes);

}  // namespace trasmuon::safetensors
