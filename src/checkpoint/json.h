// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace trasmuon {

/// Throws Error on text that is not JSON, on an object that has a key twice (readers
/// would disagree which counts) and on anything but blanks after the value.
nlohmann::json parse_json(std::string_view text);

/// Compact text with sorted keys; throws Error on a string that is not UTF-8.
std::string to_text(const nlohmann::json& value);

}  // namespace trasmuon
