// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trasmuon/error.h"

namespace trasmuon {

/// Its text continues a sentence: "is not valid JSON ...".
class JsonError : public Error {
 public:
  using Error::Error;
};

/// Reads JSON from front to back; the caller asks for the values it expects, in order. Nothing but those values is
/// stored, and nothing recurses, so a hostile text costs no more memory than what the caller keeps of it. Throws
/// JsonError if the text is not valid JSON as far as it is read, or if an object has a key twice, of which readers
/// would disagree which one counts. Values of another kind than expected are reported by `false`; reading cannot go on
/// then.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  /// Calls member(key) for each member of an object, which must read the value and return whether it could.
  [[nodiscard]] bool read_object(const std::function<bool(std::string key)>& member);
  /// Calls field(i) for the member names[i] of an object, whose keys must be these, each once, in any order.
  [[nodiscard]] bool read_record(std::initializer_list<const char*> names,
                                 const std::function<bool(std::size_t)>& field);
  /// Calls item() for each item of a list.
  [[nodiscard]] bool read_list(const std::function<bool()>& item);

  [[nodiscard]] bool read(std::string& value);
  [[nodiscard]] bool read(bool& value);
  [[nodiscard]] bool read(std::uint64_t& value);  ///< false if it is not a whole number of 64 bits
  [[nodiscard]] bool read(std::int64_t& value);
  /// Reads an object of strings; false also if it has more than `most` members.
  [[nodiscard]] bool read(std::map<std::string, std::string>& values, std::size_t most);

  template <class Number>
  [[nodiscard]] bool read(std::vector<Number>& values) {
    values.clear();
    values.reserve(items_ahead());
    return read_list([&] { return read(values.emplace_back()); });
  }

  /// Throws JsonError if more than blanks follow.
  void finish();

 private:
  [[noreturn]] void refuse(const char* expected) const;
  char peek();        ///< the next character that is not blank; 0 at the end
  bool take(char c);  ///< skips blanks and `c`, if it comes next
  void expect(char c, const char* expected);
  std::string take_string();  ///< after the opening quote
  unsigned take_hex4();
  void append_escape(std::string& value);
  std::string_view take_number();
  std::size_t items_ahead() const;  ///< at least the number of items of a list of numbers that comes next

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Throws JsonError for a key that an object has twice.
[[noreturn]] void refuse_second(const std::string& key);

}  // namespace trasmuon
