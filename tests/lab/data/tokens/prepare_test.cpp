// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/prepare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "lab/data/text/tokenizer.h"
#include "lab/data/tokens/token_stream.h"
#include "lab/records/files.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

bool go_on(const PrepareProgress&) { return true; }

class Prepare : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    test::write_file(directory_ / name, text);
    return directory_ / name;
  }
  PrepareOptions options(const std::string& text) {
    return {.inputs = {write("in.txt", text)}, .out = directory_ / "out"};
  }
  /// The documents of a split of the prepared folder: | stands for the end-of-text token.
  std::string prepared(const std::string& split, const std::string& tokenizer = "bytes") {
    const auto codec = make_tokenizer(tokenizer, TRASMUON_TOKENIZER_DIR);
    const TokenStream stream(token_files(directory_ / "out", split), codec->vocabulary());
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(stream.size()));
    stream.read(0, tokens);
    std::string text;
    for (const std::int64_t token : tokens) {
      if (token == codec->end_of_text()) text += '|';
      else codec->decode(static_cast<std::uint32_t>(token), text);
    }
    return text;
  }
  std::string refused(const PrepareOptions& options) {
    return test::error_of([&] { prepare_tokens(options, go_on); });
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Prepare, WritesEveryDocumentBehindAnEndOfText) {
  PrepareOptions all = options("one\n<|endoftext|>\ntwo\n");
  all.inputs.emplace_back(write("more.txt", "three"));
  all.val = write("val.txt", "four\n<|endoftext|>\n");
  for (const char* tokenizer : {"bytes", "gpt2", "qwen"}) {
    all.tokenizer = tokenizer;
    all.tokenizer_files = TRASMUON_TOKENIZER_DIR;
    const PrepareResult result = prepare_tokens(all, go_on);
    EXPECT_EQ(prepared("train", tokenizer), "|one|two\n|three");
    EXPECT_EQ(prepared("val", tokenizer), "|four");
    EXPECT_EQ(result.train.documents, 3);
    EXPECT_EQ(result.train.files, 1);
    EXPECT_EQ(result.val.documents, 1);
    fs::remove_all(directory_ / "out");
  }
}

TEST_F(Prepare, DividesTokensIntoFiles) {
  PrepareOptions small = options("0123456789");
  small.shard_tokens = 4;
  small.val_share = 0;
  const PrepareResult result = prepare_tokens(small, go_on);
  EXPECT_EQ(result.train.files, 3);
  EXPECT_EQ(result.train.tokens, 11);
  EXPECT_EQ(result.val.files, 0);
  EXPECT_EQ(prepared("train"), "|0123456789");
  EXPECT_EQ(read_json(directory_ / "out/tokens.json")["train"]["tokens"], 11);
}

TEST_F(Prepare, TakesAShareOfTheDocumentsForValidation) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(1000 + i) + "\n<|endoftext|>\n";
  PrepareOptions shared = options(text);
  shared.val_share = 0.1;
  const PrepareResult result = prepare_tokens(shared, go_on);
  EXPECT_EQ(result.val.documents, 20);
  EXPECT_EQ(result.train.documents, 180);
  const std::string train = prepared("train"), val = prepared("val");
  for (int i = 0; i < 200; ++i) {
    const std::string document = "|" + std::to_string(1000 + i);
    EXPECT_NE(train.find(document) == train.npos, val.find(document) == val.npos) << i;
  }
  EXPECT_NE(val,
            "|1180|1181|1182|1183|1184|1185|1186|1187|1188|1189|1190|1191|1192|1193|1194|1195|1196|1197|1198|1199");
}

TEST_F(Prepare, TakesTheEndOfALongDocumentForValidation) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line number " + std::to_string(1000 + i) + "\n";
  prepare_tokens(options(text), go_on);
  const std::string train = prepared("train"), val = prepared("val");
  EXPECT_EQ(train + val.substr(1), "|" + text);
  EXPECT_GE(val.size(), 100u);
  EXPECT_LE(val.size(), 170u);
  EXPECT_EQ(val.substr(0, 5), "|line");
}

TEST_F(Prepare, KeepsLongDocumentsWhole) {
  std::string text;
  while (text.size() < 3500000) text += "It's a line of text, number " + std::to_string(text.size()) + ".\n";
  PrepareOptions whole = options(text);
  whole.tokenizer = "qwen";
  whole.tokenizer_files = TRASMUON_TOKENIZER_DIR;
  whole.val_share = 0;
  std::vector<PrepareProgress> reports;
  prepare_tokens(whole, [&](const PrepareProgress& progress) {
    reports.push_back(progress);
    return true;
  });
  EXPECT_EQ(prepared("train", "qwen"), "|" + text);
  ASSERT_GE(reports.size(), 4u);  // one per MiB
  EXPECT_LT(reports[0].bytes_done, 1100000);
  EXPECT_EQ(reports.back().bytes_done, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(reports.back().bytes, reports.back().bytes_done);
}

TEST_F(Prepare, LeavesNothingWhenItIsStopped) {
  PrepareOptions bytes = options(std::string(3000000, 'x'));
  bytes.val_share = 0;
  const PrepareResult result = prepare_tokens(bytes, [](const auto&) { return false; });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"in.txt"}));
}

TEST_F(Prepare, NeverOverwrites) {
  const PrepareOptions first = options("a\nb\nc\nd\n");
  fs::create_directory(first.out);
  PrepareOptions again = first;
  again.val_share = 0;
  prepare_tokens(again, go_on);  // an empty folder is no loss
  EXPECT_EQ(refused(again), first.out.string() + " exists already; choose another --out, or remove it");
  again.out += "/";
  EXPECT_EQ(refused(again), first.out.string() + " exists already; choose another --out, or remove it");
  again.out = directory_ / "in.txt";
  EXPECT_EQ(refused(again), again.out.string() + " exists already; choose another --out, or remove it");
}

TEST_F(Prepare, RefusesAndLeavesNothing) {
  PrepareOptions bad = options("good\n\xff");
  bad.tokenizer = "gpt2";
  bad.tokenizer_files = TRASMUON_TOKENIZER_DIR;
  EXPECT_EQ(refused(bad), (directory_ / "in.txt") +
                              ": byte 5 is not valid UTF-8, which this tokenizer needs; the tokenizer bytes does not");
  bad = options("");
  EXPECT_EQ(refused(bad), (directory_ / "in.txt") + ": there is no text in it");
  bad.inputs = {directory_ / "none"};
  EXPECT_EQ(refused(bad), "cannot read " + (directory_ / "none") + ": No such file or directory");
  bad = options("a short text");
  EXPECT_EQ(
      refused(bad),
      "val_share 0.01 of the text is less than a line and less than a document; a larger share, or a file of its own "
      "for validation (--val), is needed");
  bad.val_share = 1;
  EXPECT_EQ(refused(bad), "val_share must be in [0, 1), got 1");
  bad.val_share = 0;
  bad.shard_tokens = 0;
  EXPECT_EQ(refused(bad), "shard_tokens must be in [1, 2147483647], got 0");
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"in.txt"}));
}

}  // namespace
}  // namespace trasmuon::lab
