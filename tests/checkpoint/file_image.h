// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace trasmuon::test {

/// A safetensors file taken apart, written from the format's description and without
/// the library's own reader.
struct FileImage {
  nlohmann::json header;
  std::string data;

  static FileImage parse(const std::string& file);

  nlohmann::json part(const char* key) const;  ///< JSON kept as text in the metadata
  void set_part(const char* key, const nlohmann::json& value);

  /// Returns the file's bytes, with the header's checksum recomputed.
  std::string sealed() const;
};

/// Returns the bytes of a file: length, `header_text` unchanged, data.
std::string join(std::string_view header_text, std::string_view data);

/// Computes CRC-32 bit by bit from its definition; returns eight hexadecimal digits.
std::string slow_crc32(std::string_view bytes);

}  // namespace trasmuon::test
