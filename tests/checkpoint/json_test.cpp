// SPDX-License-Identifier: Apache-2.0
// The reader and writer of checkpoints' JSON beside nlohmann's, which knows nothing of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/json_reader.h"
#include "checkpoint/json_text.h"
#include "support/error_of.h"

namespace trasmuon::test {
namespace {

using nlohmann::json;

/// All text of one and two bytes, characters at the limits of UTF-8, and broken ones.
std::vector<std::string> texts() {
  std::vector<std::string> all = {"",
                                  "\xEF\xBF\xBF",
                                  "\xF0\x90\x80\x80",
                                  "\xF4\x8F\xBF\xBF",
                                  "\xE0\xA0\x80",
                                  "\xED\x9F\xBF",
                                  "\xF4\x90\x80\x80",
                                  "\xED\xA0\x80",
                                  "\xE0\x9F\xBF",
                                  "\xF0\x8F\xBF\xBF",
                                  "\xF0\x90\x80",
                                  "\xE2\x82",
                                  "a\x80",
                                  "\xF5\x80\x80\x80",
                                  "\xE2\x28\xA1"};
  for (int first = 0; first < 256; ++first) {
    all.emplace_back(1, static_cast<char>(first));
    for (int second = 0; second < 256; ++second) {
      all.push_back({static_cast<char>(first), static_cast<char>(second)});
    }
  }
  return all;
}

TEST(CheckpointJson, WritesTextAsOthersDo) {
  for (const std::string& text : texts()) {
    std::string expected;
    try {
      expected = json(text).dump();
    } catch (const json::exception&) {
      EXPECT_EQ(error_of([&] { to_json(text); }), "names must be UTF-8") << testing::PrintToString(text);
      continue;
    }
    ASSERT_EQ(to_json(text), expected);
  }
}

TEST(CheckpointJson, ReadsTextAsOthersDo) {
  std::vector<std::string> all = texts();
  for (const char* escape :
       {"\\u0041", "\\u00e9", "\\u20AC", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\ud83dx", "\\u12", "\\ud83d\\u0041",
        "\\x", "\\/", "\\", "\\u00g0", "\\u+123", "\\u0000", "\\uffff"}) {
    all.emplace_back(escape);
  }
  for (const std::string& text : all) {
    const std::string quoted = '"' + text + '"';
    const json expected = json::parse(quoted, nullptr, false);
    std::string value;
    const std::string error = error_of([&] {
      JsonReader reader(quoted);
      EXPECT_TRUE(reader.read(value));
      reader.finish();
    });
    const bool fine = error == "no error";
    // nlohmann's takes a zero byte for the end.
    const bool zero = text.find('\0') != std::string::npos;
    ASSERT_EQ(fine, !expected.is_discarded() && !zero) << testing::PrintToString(quoted) << ": " << error;
    if (fine) {
      ASSERT_EQ(value, expected.get<std::string>());
    }
  }
}

TEST(CheckpointJson, ReadsNumbersAsOthersDo) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "-1",
                           "01",
                           "1.0",
                           "1e3",
                           "1E+3",
                           "1.",
                           ".5",
                           "-",
                           "+1",
                           "1e",
                           "0x1",
                           "1 2",
                           "18446744073709551615",
                           "18446744073709551616",
                           "9223372036854775807",
                           "-9223372036854775808",
                           "-9223372036854775809",
                           "9223372036854775808",
                           " 7 ",
                           "\"7\"",
                           "null",
                           "[1]",
                           "{}",
                           "true",
                           ""}) {
    const json expected = json::parse(text, nullptr, false);
    const auto expect = [&](auto number, bool whole) {
      bool read = false;
      const std::string error = error_of([&] {
        JsonReader reader(text);
        read = reader.read(number);
        if (read) reader.finish();
      });
      const bool fine = read && error == "no error";
      EXPECT_EQ(fine, whole) << text << ": " << error;
      if (fine) {
        EXPECT_EQ(number, expected.get<decltype(number)>()) << text;
      }
    };
    expect(std::uint64_t{9}, expected.is_number_unsigned());
    expect(std::int64_t{9}, expected.is_number_integer() && text != std::string_view("9223372036854775808") &&
                                text != std::string_view("18446744073709551615"));
  }
}

}  // namespace
}  // namespace trasmuon::test
