// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/documents.h"

#include <gtest/gtest.h>

#include <string>

#include "lab/data/text/tokenizer.h"
#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

using Views = std::vector<std::string_view>;

TEST(Documents, StandBetweenSeparatorLines) {
  EXPECT_EQ(documents_of("a\nb\n"), (Views{"a\nb\n"}));
  EXPECT_EQ(documents_of("a\n<|endoftext|>\nb\n"), (Views{"a", "b\n"}));
  EXPECT_EQ(documents_of("<|endoftext|>\na\r\n<|endoftext|>\r\n\nb<|endoftext|>"), (Views{"a", "\nb<|endoftext|>"}));
  EXPECT_EQ(documents_of("a\n<|endoftext|>\n<|endoftext|>\nb\n<|endoftext|>"), (Views{"a", "b"}));
  EXPECT_EQ(documents_of("a <|endoftext|>\n<|endoftext|> b"), (Views{"a <|endoftext|>\n<|endoftext|> b"}));
  EXPECT_EQ(documents_of(""), Views{});
  EXPECT_EQ(documents_of("<|endoftext|>\n"), Views{});
}

TEST(Documents, AreCutBetweenALineBreakAndALetter) {
  EXPECT_EQ(cut_behind("ab\ncd", 0), 3u);
  EXPECT_EQ(cut_behind("ab\ncd\nef", 3), 6u);
  for (const char* text : {"ab", "a\n\nb", "a \nb", "a\n1", "a\n b", "\nb", "a\n", "\u00e9\nb", "a\n\u00e9"}) {
    EXPECT_EQ(cut_behind(text, 0), std::string(text).size()) << text;
  }
}

TEST(Documents, CutPartsHaveTheTokensOfTheWhole) {
  const std::string files = TRASMUON_TOKENIZER_DIR;
  std::string text;
  for (const Json& one : read_json(files + "/cases.json")) text += one["text"].get<std::string>() + "x.\nAn";
  for (const char* name : {"bytes", "gpt2", "qwen"}) {
    const auto tokenizer = make_tokenizer(name, files);
    std::vector<std::uint32_t> whole, parts;
    tokenizer->encode(text, whole);
    std::size_t cuts = 0;
    for (std::string_view rest = text; !rest.empty(); ++cuts) {
      const std::size_t cut = cut_behind(rest, 1);
      tokenizer->encode(rest.substr(0, cut), parts);
      rest.remove_prefix(cut);
    }
    EXPECT_EQ(parts, whole) << name;
    EXPECT_GT(cuts, 200u);
  }
}

}  // namespace
}  // namespace trasmuon::lab
