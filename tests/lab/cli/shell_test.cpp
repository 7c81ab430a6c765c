// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/shell.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

TEST(Shell, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shell_word("out/mechanistic-desk"), "out/mechanistic-desk");
  EXPECT_EQ(shell_word("kappa=1e4"), "kappa=1e4");
  EXPECT_EQ(shell_word("né"), "né");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("a\n'b'"), "$'a\\n\\'b\\''");
  EXPECT_EQ(shell_word("-x"), "-x");
  EXPECT_EQ(shell_path("-x y"), "'./-x y'");
  EXPECT_EQ(shell_path("out/-x"), "out/-x");
}

TEST(Shell, ReadsTheSameWord) {
  const test::TemporaryDirectory folder;
  for (const std::string word :
       {"it's \"a\" $(x) `y` !z ~ # \\", "line\nbreak\ttab \x1b[2J\\", "*?[a]{b}", "né -\xff"}) {
    const std::string command = "bash -c \"$(cat " + (folder / "script") + ")\" > " + (folder / "read");
    test::write_file(folder / "script", "printf %s " + shell_word(word));
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(test::read_file(folder / "read"), word);
  }
}

}  // namespace
}  // namespace trasmuon::lab
