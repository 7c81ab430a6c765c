// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/json_reader.h"

#include <algorithm>
#include <charconv>

#include "checkpoint/utf8.h"

namespace trasmuon {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& text, unsigned code) {
  const auto append = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      append(0xE0 | code >> 12);
    } else {
      append(0xF0 | code >> 18);
      append(0x80 | (code >> 12 & 0x3F));
    }
    append(0x80 | (code >> 6 & 0x3F));
  }
  append(0x80 | (code & 0x3F));
}

template <class Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

void refuse_second(const std::string& key) { throw JsonError("has the key '" + key + "' twice"); }

void JsonReader::refuse(const char* expected) const {
  throw JsonError("is not valid JSON: expected " + std::string(expected) + " at byte " + std::to_string(at_));
}

char JsonReader::peek() {
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonReader::take(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonReader::expect(char c, const char* expected) {
  if (!take(c)) refuse(expected);
}

bool JsonReader::read_object(const std::function<bool(std::string key)>& member) {
  if (peek() == '\0') refuse("a value");
  if (!take('{')) return false;
  if (take('}')) return true;
  do {
    expect('"', "a key in quotes");
    std::string key = take_string();
    expect(':', "a colon");
    if (!member(std::move(key))) return false;
  } while (take(','));
  expect('}', "a comma or }");
  return true;
}

bool JsonReader::read_record(std::initializer_list<const char*> names, const std::function<bool(std::size_t)>& field) {
  std::vector<bool> seen(names.size());
  const bool known = read_object([&](const std::string& key) {
    const auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end()) return false;
    const auto index = static_cast<std::size_t>(found - names.begin());
    if (seen[index]) refuse_second(key);
    seen[index] = true;
    return field(index);
  });
  return known && std::find(seen.begin(), seen.end(), false) == seen.end();
}

bool JsonReader::read_list(const std::function<bool()>& item) {
  if (peek() == '\0') refuse("a value");
  if (!take('[')) return false;
  if (take(']')) return true;
  do {
    if (!item()) return false;
  } while (take(','));
  expect(']', "a comma or ]");
  return true;
}

bool JsonReader::read(std::string& value) {
  if (peek() == '\0') refuse("a value");
  if (!take('"')) return false;
  value = take_string();
  return true;
}

bool JsonReader::read(bool& value) {
  if (peek() == '\0') refuse("a value");
  for (const bool each : {false, true}) {
    const std::string_view word = each ? "true" : "false";
    if (!text_.substr(at_).starts_with(word)) continue;
    at_ += word.size();
    value = each;
    return true;
  }
  return false;
}

bool JsonReader::read(std::uint64_t& value) { return parse_whole(take_number(), value); }
bool JsonReader::read(std::int64_t& value) { return parse_whole(take_number(), value); }

bool JsonReader::read(std::map<std::string, std::string>& values, std::size_t most) {
  return read_object([&](std::string key) {
    const auto [entry, added] = values.try_emplace(std::move(key));
    if (!added) refuse_second(entry->first);
    return values.size() <= most && read(entry->second);
  });
}

void JsonReader::finish() {
  peek();
  if (at_ != text_.size()) refuse("the end");
}

std::string JsonReader::take_string() {
  std::string value;
  for (;;) {
    const std::size_t end = at_;
    const char c = end < text_.size() ? text_[end] : '\0';
    if (static_cast<unsigned char>(c) < 0x20) refuse("a character or a closing quote");
    if (c == '"') break;
    if (c == '\\') {
      ++at_;
      append_escape(value);
      continue;
    }
    const std::size_t length = utf8_character(text_.substr(end));
    if (length == 0) refuse("UTF-8");
    value.append(text_, end, length);
    at_ += length;
  }
  ++at_;
  return value;
}

unsigned JsonReader::take_hex4() {
  unsigned code = 0;
  const std::string_view digits = text_.substr(at_, 4);
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() < 4 || result.ptr != digits.data() + 4) refuse("four hexadecimal digits");
  at_ += 4;
  return code;
}

void JsonReader::append_escape(std::string& value) {
  constexpr std::string_view names = "\"\\/bfnrt", characters = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (const std::size_t found = names.find(c); found != std::string_view::npos) {
    ++at_;
    value += characters[found];
    return;
  }
  if (c != 'u') refuse("an escape");
  ++at_;
  unsigned code = take_hex4();
  if (code >= 0xDC00 && code < 0xE000) refuse("a first surrogate before the second");
  if (code >= 0xD800 && code < 0xDC00) {
    if (text_.substr(at_, 2) != "\\u") refuse("a second surrogate");
    at_ += 2;
    const unsigned second = take_hex4();
    if (second < 0xDC00 || second >= 0xE000) refuse("a second surrogate");
    code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
  }
  append_utf8(value, code);
}

/// Returns the text of a number; empty if another kind of value comes next.
std::string_view JsonReader::take_number() {
  const char first = peek();
  if (first == '\0') refuse("a value");
  if (first != '-' && !is_digit(first)) return {};
  const std::size_t start = at_;
  const auto is = [&](std::string_view any) { return at_ < text_.size() && any.find(text_[at_]) != std::string::npos; };
  const auto take_digits = [&] {
    if (at_ == text_.size() || !is_digit(text_[at_])) refuse("a digit");
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  };
  if (is("-")) ++at_;
  if (is("0")) ++at_;
  else take_digits();
  if (is(".")) {
    ++at_;
    take_digits();
  }
  if (is("eE")) {
    ++at_;
    if (is("+-")) ++at_;
    take_digits();
  }
  return text_.substr(start, at_ - start);
}

std::size_t JsonReader::items_ahead() const {
  const std::size_t end = std::min(text_.find_first_not_of(" \t\r\n[0123456789,-", at_), text_.size());
  return static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                             text_.begin() + static_cast<std::ptrdiff_t>(end), ',')) +
         1;
}

}  // namespace trasmuon
