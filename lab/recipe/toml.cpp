// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/toml.h"

#include <trasmuon/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <sstream>

// A reader of our own: CLI11's loses line numbers and order, cuts quoted text at '#' and turns a repeated key
// into a list.
namespace trasmuon::lab {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The position of the first of `wanted` outside quotes.
std::size_t find_unquoted(std::string_view text, std::string_view wanted) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (wanted.find(text[i]) != std::string_view::npos) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string_view without_comment(std::string_view line) { return trimmed(line.substr(0, find_unquoted(line, "#"))); }

bool is_bare_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

template <class Number>
Json number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(static_cast<double>(value))
             ? Json(value)
             : Json();
}

Json scalar(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'')) {
    if (text.find(text.front(), 1) != text.size() - 1) return {};
    const bool escapes = text.front() == '"' && text.find('\\') != std::string_view::npos;
    return escapes ? Json() : Json(text.substr(1, text.size() - 2));
  }
  const Json whole = number<std::int64_t>(text);
  return whole.is_null() ? number<double>(text) : whole;
}

Json list(std::string_view inside) {
  Json values = Json::array();
  while (!trimmed(inside).empty()) {
    const std::size_t comma = find_unquoted(inside, ",");
    values.push_back(scalar(trimmed(inside.substr(0, comma))));
    if (values.back().is_null()) return {};
    if (comma == std::string_view::npos) break;
    inside.remove_prefix(comma + 1);
  }
  return values;
}

class Reader {
 public:
  Reader(std::string_view text, std::string name) : stream_(std::string(text)), name_(std::move(name)) {
    sections_.push_back({.name = "", .where = name_ + ":1:", .entries = {}});
  }

  std::vector<TomlSection> read() {
    std::string line;
    while (next(line)) {
      const std::string_view content = without_comment(line);
      if (content.empty()) continue;
      if (content.front() == '[') open_section(content);
      else read_entry(content);
    }
    return std::move(sections_);
  }

 private:
  bool next(std::string& line) {
    ++line_;
    if (!std::getline(stream_, line)) return false;
    if (!is_utf8(line)) refuse("text must be UTF-8");
    return true;
  }

  std::string here() const { return name_ + ":" + std::to_string(line_) + ":"; }
  std::string here_in_section() const {
    const std::string& section = sections_.back().name;
    return section.empty() ? here() : here() + " [" + section + "]";
  }
  [[noreturn]] void refuse(const std::string& why) const { throw Error(here_in_section() + " " + why); }

  void open_section(std::string_view content) {
    const std::string_view name = content.substr(1, content.size() - 2);
    std::string keys(name);
    std::replace(keys.begin(), keys.end(), '.', '_');
    if (content.back() != ']' || !is_bare_key(keys))
      refuse("a section must be [name], got '" + std::string(content) + "'");
    for (const TomlSection& section : sections_) {
      if (section.name == name) throw Error(here() + " [" + std::string(name) + "] appears twice");
    }
    sections_.push_back({.name = std::string(name), .where = here() + " [" + std::string(name) + "]", .entries = {}});
  }

  void read_entry(std::string_view content) {
    const std::size_t equals = content.find('=');
    const std::string key(trimmed(content.substr(0, equals)));
    if (equals == std::string_view::npos || !is_bare_key(key)) {
      refuse("a line must be key = value, got '" + std::string(content) + "'");
    }
    for (const TomlEntry& entry : sections_.back().entries) {
      if (entry.key == key) refuse(key + " appears twice");
    }
    const std::string where = here_in_section();
    std::string value(trimmed(content.substr(equals + 1)));
    if (value.starts_with('[')) complete_list(value, where, key);
    const Json parsed = parse_toml_value(value);
    if (parsed.is_null()) {
      throw Error(where + " " + key + " must be \"text\", a number, true, false or a list of these, got " +
                  (value.empty() ? "nothing" : value));
    }
    sections_.back().entries.push_back({key, parsed, where});
  }

  void complete_list(std::string& value, const std::string& where, const std::string& key) {
    std::string line;
    while (find_unquoted(value, "]") == std::string::npos) {
      if (!next(line)) throw Error(where + " " + key + ": the list has no closing ]");
      value += ' ';
      value += without_comment(line);
    }
  }

  std::istringstream stream_;
  std::string name_;
  int line_ = 0;
  std::vector<TomlSection> sections_;
};

}  // namespace

bool is_utf8(std::string_view text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

std::vector<TomlSection> parse_toml(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

Json parse_toml_value(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[')) return scalar(text);
  return text.size() >= 2 && text.ends_with(']') ? list(text.substr(1, text.size() - 2)) : Json();
}

}  // namespace trasmuon::lab
