// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "lab/cli/program.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

const std::string kTokenizer = TRASMUON_SOURCE "/tests/lab/data/text/tokenizer";

TEST(PrepareCommand, WritesTokenFiles) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "in.txt", "one\n<|endoftext|>\ntwo\n");
  const Ended ended = run_program(folder.path(), {"prepare", "in.txt", "--out", "to", "--val-share", "0.5"});
  EXPECT_EQ(ended.code, 0) << ended.error;
  EXPECT_EQ(ended.out,
            "train: 4 tokens of 1 document in 1 file\nval: 5 tokens of 1 document in 1 file\n"
            "vocabulary 257; the files are in to\n");
  EXPECT_TRUE(fs::exists(folder / "to/train_000000.bin"));
  const Ended again = run_program(folder.path(), {"prepare", "in.txt", "--out", "to"});
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(again.error, "trasmuon: to exists already; choose another --out, or remove it\n");
}

TEST(PrepareCommand, RefusesWrongCommandLines) {
  const test::TemporaryDirectory folder;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"prepare"},
        {"prepare", "in.txt"},
        {"prepare", "--out", "to"},
        {"prepare", "in.txt", "--out", "to", "--val", "v", "--val-share", "0.1"}}) {
    EXPECT_EQ(run_program(folder.path(), arguments).code, 2);
  }
  const Ended ended = run_program(folder.path(), {"prepare", "in.txt", "--out", "to", "--tokenizer", "gpt2"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(
      ended.error,
      "trasmuon: the tokenizer gpt2 needs the folder of its files (encoder.json and vocab.bpe): --tokenizer-files "
      "DIR\n");
}

TEST(PrepareCommand, LeavesNothingAfterAnInterrupt) {
  const test::TemporaryDirectory folder;
  std::string text;
  while (text.size() < 64 << 20) text += "A text that takes some seconds, line by line.\nAnd another line.\n";
  test::write_file(folder / "in.txt", text);
  Program program(folder.path(),
                  {"prepare", "in.txt", "--out", "to", "--tokenizer", "gpt2", "--tokenizer-files", kTokenizer});
  const auto has_begun = [&] {
    for (const std::string& name : folder.names()) {
      if (name.starts_with("to.partial-") && fs::exists(folder / (name + "/train_000000.bin"))) return true;
    }
    return false;
  };
  for (int i = 0; i < 6000 && !has_begun(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(::kill(program.process(), SIGINT), 0);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 130) << ended.error;
  EXPECT_EQ(ended.out, "stopped; nothing was written\n");
  for (const std::string& name : folder.names()) EXPECT_FALSE(name.starts_with("to")) << name;
}

}  // namespace
}  // namespace trasmuon::lab
