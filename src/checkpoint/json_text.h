// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trasmuon {

// Values as compact JSON. Equal values have equal text: the header's checksum depends on it.

/// Throws Error if the text is not UTF-8.
std::string to_json(std::string_view text);
inline std::string to_json(std::same_as<bool> auto value) { return value ? "true" : "false"; }

template <std::integral Number>
requires(!std::same_as<Number, bool>) std::string to_json(Number value) { return std::to_string(value); }

template <class Number>
std::string to_json(const std::vector<Number>& values) {
  std::string text = "[";
  for (const Number& value : values) text += (text.size() > 1 ? "," : "") + to_json(value);
  return text + "]";
}

std::string to_json(const std::map<std::string, std::string>& values);

}  // namespace trasmuon
