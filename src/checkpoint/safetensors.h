// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trasmuon/tensor.h"

// The safetensors format: eight bytes with the length of the header (little-endian),
// the header in JSON, and the bytes of the tensors without gaps.
namespace trasmuon::safetensors {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  ///< the limit of other readers

struct Tensor {
  std::string dtype;  ///< "F64", "F32", "I64", ... unknown names are kept
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< in bytes from the start of the data
  std::uint64_t end = 0;
};

struct Header {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
};

const char* dtype_name(DType dtype);

/// Returns the header as JSON, without length and padding. Equal headers give equal text.
std::string header_json(const Header& header);

/// Returns length, JSON, and blanks that align the data to eight bytes.
std::string encode(const Header& header);

/// Parses the header; throws Error unless it is valid and the tensors cover `data_bytes` exactly.
Header decode(std::string_view text, std::uint64_t data_bytes);

}  // namespace trasmuon::safetensors
