// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trasmuon::lab {
namespace {

using Words = std::vector<std::string>;

template <class WordEnd>
Words split(WordEnd word_end, const std::string& text) {
  Words words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin);
    if (end <= begin || end > text.size()) throw std::logic_error("a word must have at least one byte of the text");
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

TEST(Gpt2Words, FollowThePattern) {
  const auto words = [](const std::string& text) { return split(gpt2_word_end, text); };
  EXPECT_EQ(words("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(words("a  b\n c"), (Words{"a", " ", " b", "\n", " c"}));
  EXPECT_EQ(words("a\n\nb  "), (Words{"a", "\n", "\n", "b", "  "}));
  EXPECT_EQ(words("it's THEY'S 'sound"), (Words{"it", "'s", " THEY", "'", "S", " '", "sound"}));
  EXPECT_EQ(words("we've 12345,x"), (Words{"we", "'ve", " 12345", ",", "x"}));
  EXPECT_EQ(words(" !? a_b"), (Words{" !?", " a", "_", "b"}));
  EXPECT_EQ(words("\u00e9\u4e2d \u00bd1"), (Words{"\u00e9\u4e2d", " \u00bd1"}));
  EXPECT_EQ(words("\u3000\u3000a"), (Words{"\u3000", "\u3000", "a"}));
}

TEST(QwenWords, FollowThePattern) {
  const auto words = [](const std::string& text) { return split(qwen_word_end, text); };
  EXPECT_EQ(words("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(words("a  b\n c"), (Words{"a", " ", " b", "\n", " c"}));
  EXPECT_EQ(words("a \n\n  b  "), (Words{"a", " \n\n", " ", " b", "  "}));
  EXPECT_EQ(words("THEY'S THEY'Ll '\u017f"), (Words{"THEY", "'S", " THEY", "'Ll", " '", "\u017f"}));
  EXPECT_EQ(words("'\u017f"), (Words{"'\u017f"}));
  EXPECT_EQ(words("x=123"), (Words{"x", "=", "1", "2", "3"}));
  EXPECT_EQ(words("(a) ((b"), (Words{"(a", ")", " ((", "b"}));
  EXPECT_EQ(words("end.\r\n\r\nNext"), (Words{"end", ".\r\n\r\n", "Next"}));
  EXPECT_EQ(words("\ta\n\tb"), (Words{"\ta", "\n", "\tb"}));
  EXPECT_EQ(words("1 2"), (Words{"1", " ", "2"}));
  EXPECT_EQ(words("e\u0301a"), (Words{"e", "\u0301a"}));
}

}  // namespace
}  // namespace trasmuon::lab
