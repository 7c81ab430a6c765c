// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/unicode.h"

#include <gtest/gtest.h>

#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

TEST(Utf8, FindsTheFirstInvalidByte) {
  const auto prefix = [](const std::string& text) { return valid_utf8_prefix(text); };
  EXPECT_EQ(prefix(""), 0u);
  EXPECT_EQ(prefix("a\u00e9\u4e2d\U0001f600"), 10u);
  EXPECT_EQ(prefix("a\x80"), 1u);
  EXPECT_EQ(prefix("\xc0\x80"), 0u);  // NUL, longer than need be
  EXPECT_EQ(prefix("\xc1\xbf"), 0u);
  EXPECT_EQ(prefix("\xe0\x9f\xbf"), 0u);
  EXPECT_EQ(prefix("\xed\xa0\x80"), 0u);  // a surrogate
  EXPECT_EQ(prefix("\xed\x9f\xbf"), 3u);
  EXPECT_EQ(prefix("\xf0\x8f\xbf\xbf"), 0u);
  EXPECT_EQ(prefix("\xf4\x8f\xbf\xbf"), 4u);
  EXPECT_EQ(prefix("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(prefix("\xf5\x80\x80\x80"), 0u);
  EXPECT_EQ(prefix("ab\xe4\xb8"), 2u);  // cut off
  EXPECT_EQ(prefix(std::string("a\0b", 3)), 3u);
}

TEST(Utf8, EveryCharacterReadsBackAsItWas) {
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    if (code == 0xd800) code = 0xe000;
    std::string text;
    append_utf8(code, text);
    ASSERT_EQ(valid_utf8_prefix(text), text.size()) << static_cast<unsigned>(code);
    const Character character = character_at(text, 0);
    ASSERT_TRUE(character.code == code) << static_cast<unsigned>(code);
    ASSERT_EQ(character.bytes, text.size());
  }
}

TEST(Unicode, TellsLettersNumbersAndSpaces) {
  const auto kind = [](const std::string& text) { return character_at(text, 0).kind; };
  using enum CharacterKind;
  for (const char* text : {"a", "Z", "\u00aa", "\u00e9", "\u017f", "\u4e2d", "\u05d0", "\U00020000"})
    EXPECT_EQ(kind(text), letter);
  for (const char* text : {"0", "9", "\u00b2", "\u00bd", "\u2167", "\u0660"}) EXPECT_EQ(kind(text), number);
  for (const char* text : {" ", "\t", "\n", "\v", "\f", "\r", "\u0085", "\u00a0", "\u2028", "\u3000"})
    EXPECT_EQ(kind(text), space);
  for (const char* text : {"_", "'", "\u0301", "\x1c", "\x1f", "\u200b", "\ufeff", "\U0001f600", "\U0010ffff"})
    EXPECT_EQ(kind(text), other);
  EXPECT_EQ(kind(""), end);
}

TEST(Nfc, IsThatOfPython) {
  for (const Json& one : read_json(std::string(TRASMUON_TOKENIZER_DIR) + "/cases.json")) {
    const std::string text = one["text"], expected = one["nfc"];
    EXPECT_EQ(nfc(text), expected) << one;
    EXPECT_EQ(nfc(expected), expected) << one;
  }
}

TEST(Nfc, ComposesAcrossMarks) {
  EXPECT_EQ(nfc("a\u0301"), "\u00e1");
  EXPECT_EQ(nfc("a\u0323\u0301b"), "\u1ea1\u0301b");
  EXPECT_EQ(nfc("a\u0301\u0323"), "\u1ea1\u0301");                            // marks are put in order first
  EXPECT_EQ(nfc("a\u0338\u0301"), "\u00e1\u0338");                            // of different orders: not blocked
  EXPECT_EQ(nfc("a\u0315\u0300\u05ae\u0300b"), "\u00e0\u05ae\u0300\u0315b");  // as in Unicode's NormalizationTest.txt
  EXPECT_EQ(nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\uac00\u11a8\u11a8"), "\uac01\u11a8");
  EXPECT_EQ(nfc("\u212b\u2126\u0344"), "\u00c5\u03a9\u0308\u0301");
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");  // excluded from composition
  EXPECT_EQ(nfc("\u0301a"), "\u0301a");
}

}  // namespace
}  // namespace trasmuon::lab
