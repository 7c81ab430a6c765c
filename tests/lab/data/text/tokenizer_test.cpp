// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lab/data/text/byte_pairs.h"
#include "lab/data/text/unicode.h"
#include "lab/records/files.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<std::uint32_t>;

const fs::path kFiles = TRASMUON_TOKENIZER_DIR;

Tokens encoded(Tokenizer& tokenizer, const std::string& text) {
  Tokens tokens;
  tokenizer.encode(text, tokens);
  return tokens;
}

std::string decoded(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::string text;
  for (const std::uint32_t token : tokens) tokenizer.decode(token, text);
  return text;
}

TEST(Tokenizers, GiveTheTokensOfHuggingFace) {
  const auto gpt2 = make_tokenizer("gpt2", kFiles), qwen = make_tokenizer("qwen", kFiles);
  const Json cases = read_json(kFiles / "cases.json");
  ASSERT_GE(cases.size(), 200u);
  for (int pass = 0; pass < 2; ++pass) {  // the second time from the cache
    for (const Json& one : cases) {
      const std::string text = one["text"];
      EXPECT_EQ(encoded(*gpt2, text), one["gpt2"].get<Tokens>()) << one;
      EXPECT_EQ(encoded(*qwen, text), one["qwen"].get<Tokens>()) << one;
    }
  }
}

TEST(Tokenizers, ReadBackAsTheyWere) {
  const auto bytes = make_tokenizer("bytes"), gpt2 = make_tokenizer("gpt2", kFiles),
             qwen = make_tokenizer("qwen", kFiles);
  for (const Json& one : read_json(kFiles / "cases.json")) {
    const std::string text = one["text"];
    EXPECT_EQ(decoded(*bytes, encoded(*bytes, text)), text);
    EXPECT_EQ(decoded(*gpt2, encoded(*gpt2, text)), text);
    EXPECT_EQ(decoded(*qwen, encoded(*qwen, text)), one["nfc"].get<std::string>());
  }
}

TEST(Tokenizers, EndTexts) {
  const auto bytes = make_tokenizer("bytes"), gpt2 = make_tokenizer("gpt2", kFiles);
  EXPECT_EQ(bytes->vocabulary(), 257);
  EXPECT_EQ(bytes->end_of_text(), 256u);
  EXPECT_EQ(gpt2->vocabulary(), 421);  // it is not in the file and comes after all that is
  EXPECT_EQ(gpt2->end_of_text(), 420u);
  EXPECT_EQ(decoded(*bytes, {65, 256, 66}), "AB");
  EXPECT_EQ(decoded(*gpt2, {420}), "");
}

TEST(Tokenizers, UseTheEndOfTextOfTheFile) {
  const test::TemporaryDirectory directory;
  Json vocabulary = read_json(kFiles / "vocab.json");
  vocabulary["<|endoftext|>"] = 420;
  test::write_file(directory / "encoder.json", vocabulary.dump());
  fs::copy_file(kFiles / "merges.txt", directory / "vocab.bpe");
  const auto tokenizer = make_tokenizer("gpt2", directory.path());
  EXPECT_EQ(tokenizer->vocabulary(), 421);
  EXPECT_EQ(tokenizer->end_of_text(), 420u);
  EXPECT_GT(encoded(*tokenizer, "<|endoftext|>").size(), 1u);  // in a text it is text
}

TEST(Tokenizers, TakeLongWords) {
  const auto tokenizer = make_tokenizer("qwen", kFiles);
  for (const char* part : {"a", "ab", "\xe4\xb8\xad", "\xcc\x81", " ", "\n", "1", "'"}) {
    std::string text;
    while (text.size() < 300000) text += part;  // n^2 would take minutes
    EXPECT_EQ(decoded(*tokenizer, encoded(*tokenizer, text)), text);
  }
}

TEST(Tokenizers, RefuseInvalidText) {
  const auto bytes = make_tokenizer("bytes"), gpt2 = make_tokenizer("gpt2", kFiles);
  EXPECT_EQ(encoded(*bytes, "a\xff"), (Tokens{97, 255}));
  EXPECT_EQ(test::error_of([&] { encoded(*gpt2, "a\xff"); }), "the text must be valid UTF-8, byte 1 is not");
}

TEST(Tokenizers, RefuseUnknownNamesAndFolders) {
  const auto refused = [](const std::string& name, const std::string& folder) {
    return test::error_of([&] { make_tokenizer(name, folder); });
  };
  EXPECT_EQ(refused("gpt", ""), "there is no tokenizer 'gpt'; did you mean 'gpt2'?");
  EXPECT_EQ(refused("qwen", ""),
            "the tokenizer qwen needs the folder of its files (vocab.json and merges.txt): --tokenizer-files DIR");
  EXPECT_EQ(refused("gpt2", "/nowhere"), "the tokenizer's folder /nowhere has neither vocab.json nor encoder.json");
}

class BytePairFiles : public ::testing::Test {
 protected:
  /// The error of these files, without their folder.
  std::string refused(const std::string& vocabulary, const std::string& merges) {
    test::write_file(directory_ / "v", vocabulary);
    test::write_file(directory_ / "m", merges);
    std::string error = test::error_of([&] { BytePairs(directory_ / "v", directory_ / "m"); });
    if (const auto at = error.find(directory_.path()); at != error.npos) error.erase(at, directory_.path().size() + 1);
    return error;
  }
  test::TemporaryDirectory directory_;
  Json vocabulary_ = read_json(kFiles / "vocab.json");
};

TEST_F(BytePairFiles, VocabulariesAreChecked) {
  const std::string merges = test::read_file(kFiles / "merges.txt");
  EXPECT_EQ(refused(vocabulary_.dump(), merges), "no error");
  EXPECT_EQ(refused("{", merges).substr(0, 18), "v: not valid JSON:");
  EXPECT_EQ(refused("[1]", merges), "v: a vocabulary must be a JSON object of tokens and their numbers");
  EXPECT_EQ(refused("{}", merges), "v: a vocabulary must be a JSON object of tokens and their numbers");
  Json changed = vocabulary_;
  changed["a"] = 420;
  EXPECT_EQ(refused(changed.dump(), merges), "v: the numbers of 420 tokens must be 0 to 419, that of 'a' is 420");
  changed["a"] = -1;
  EXPECT_EQ(refused(changed.dump(), merges), "v: the numbers of 420 tokens must be 0 to 419, that of 'a' is -1");
  changed["a"] = changed["b"];
  EXPECT_EQ(refused(changed.dump(), merges), "v: two tokens have the number 65; one is 'b'");
  changed = vocabulary_;
  changed["a b"] = 420;
  EXPECT_EQ(refused(changed.dump(), merges), "v: the token 'a b' is not written in the letters for bytes");
  EXPECT_EQ(refused(R"({"a": 0})", merges), "v: there is no token for byte 0x00");
}

TEST_F(BytePairFiles, MergesAreChecked) {
  const std::string vocabulary = vocabulary_.dump();
  EXPECT_EQ(refused(vocabulary, "#version: 0.2\r\n3 6\r\n\r\n"), "no error");
  EXPECT_EQ(refused(vocabulary, "3 6\n3  6\n"), "m:2: a merge must be two tokens with a space between, got '3  6'");
  EXPECT_EQ(refused(vocabulary, "36\n"), "m:1: a merge must be two tokens with a space between, got '36'");
  EXPECT_EQ(refused(vocabulary, "t qq\n"), "m:1: 'qq' is no token of the vocabulary");
  EXPECT_EQ(refused(vocabulary, "q q"), "m:1: 'qq' is no token of the vocabulary");
  EXPECT_EQ(refused(vocabulary, "3 6\n3 6"), "m:2: the merge '3 6' appears twice");
  EXPECT_EQ(refused(vocabulary, "\xff \xff"), "m:1: '\xff' is no token of the vocabulary");
  EXPECT_EQ(refused(vocabulary, "#version: 0.2\n"), "m: there is no merge in it");
}

}  // namespace
}  // namespace trasmuon::lab
