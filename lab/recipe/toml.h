// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/records/json.h"

namespace trasmuon::lab {

/// One "key = value" and its place, for messages: "bursts.toml:12: [method.clip-sf]".
struct TomlEntry {
  std::string key;
  Json value;  ///< text, whole number, number, true or false, or a list of these
  std::string where;
};

struct TomlSection {
  std::string name;  ///< "method.clip-sf"; the first section, before any header, has none
  std::string where;
  std::vector<TomlEntry> entries;
};

/// Reads the part of TOML that recipes need, in order: comments, [section], key = value, lists over several lines.
/// No escapes in text, dates, nested lists or tables inside values. Throws Error("NAME:LINE: ..."), also on a section
/// or key that appears twice.
std::vector<TomlSection> parse_toml(std::string_view text, const std::string& name);

/// JSON, which is what records are, has no other text.
bool is_utf8(std::string_view text);

/// Parses one value in that syntax; null if it is not valid.
Json parse_toml_value(std::string_view text);

}  // namespace trasmuon::lab
