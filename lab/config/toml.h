// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/config/json.h"

namespace trasmuon::lab {

/// One "key = value" and where it stands, for messages: "bursts.toml:12: [method.clip-sf]".
struct TomlEntry {
  std::string key;
  Json value;  ///< text, whole number, number, switch, or a list of these
  std::string where;
};

struct TomlSection {
  std::string name;  ///< "method.clip-sf"; the first section, before any header, has none
  std::string where;
  std::vector<TomlEntry> entries;
};

/// Reads the part of TOML that recipes need, in order: comments, [section], key = value, lists over several lines.
/// No escapes in text, dates, nested lists or tables inside values. Throws Error("NAME:LINE: ..."), also on a section
/// or key that is there twice.
std::vector<TomlSection> parse_toml(std::string_view text, const std::string& name);

/// One value in that syntax; null when it is none.
Json parse_toml_value(std::string_view text);

}  // namespace trasmuon::lab
