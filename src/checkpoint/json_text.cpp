// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/json_text.h"

#include <cstdio>

#include "checkpoint/utf8.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

std::string escaped(char c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  char code[7];
  std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return code;
}

}  // namespace

std::string to_json(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0) throw Error("names must be UTF-8");
    const char c = text.front();
    if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\')) quoted += escaped(c);
    else quoted += text.substr(0, length);
    text.remove_prefix(length);
  }
  return quoted + '"';
}

std::string to_json(const std::map<std::string, std::string>& values) {
  std::string text = "{";
  for (const auto& [key, value] : values) {
    if (text.size() > 1) text += ',';
    text += to_json(key);
    text += ':';
    text += to_json(value);
  }
  return text + "}";
}

}  // namespace trasmuon
