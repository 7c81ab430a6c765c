// SPDX-License-Identifier: Apache-2.0
#include "lab/records/files.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

using test::error_of;

TEST(WriteAtomically, ReplacesWholeFilesAndLeavesNothingElse) {
  const test::TemporaryDirectory folder;
  write_atomically(folder / "a.json", "old and longer");
  write_atomically(folder / "a.json", "new");
  EXPECT_EQ(read_text(folder / "a.json"), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.json"});
}

TEST(WriteAtomically, KeepsTheOldFileWhenTheDiskIsFull) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "a.json", "old");
  std::filesystem::create_symlink("/dev/full", folder / "a.json.tmp");
  const std::string error = error_of([&] { write_atomically(folder / "a.json", "new"); });
  EXPECT_TRUE(
      error.starts_with("cannot write " + (folder / "a.json") + ": No space left on device (it needs 3 bytes, "))
      << error;
  EXPECT_EQ(read_text(folder / "a.json"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.json"});
  EXPECT_THROW(write_atomically(folder / "none/a.json", "new"), WriteError);
}

TEST(WriteAtomically, SaysWhyNot) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(error_of([&] { write_atomically(folder / "none/a", ""); }),
            "cannot write " + (folder / "none/a") + ": No such file or directory");
  std::filesystem::create_directory(folder / "taken");
  EXPECT_EQ(error_of([&] { write_atomically(folder / "taken", ""); }),
            "cannot write " + (folder / "taken") + ": Is a directory");
}

TEST(ReadText, SaysWhyNot) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(error_of([&] { read_text("/dev/zero"); }), "cannot read /dev/zero: it is not a regular file");
  EXPECT_EQ(error_of([&] { read_text(folder / "none"); }),
            "cannot read " + (folder / "none") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { read_text(folder.path()); }), "cannot read " + folder.path() + ": it is a folder");
  test::write_file(folder / "a.json", "{");
  EXPECT_TRUE(error_of([&] { read_json(folder / "a.json"); }).starts_with((folder / "a.json") + ": not valid JSON: "));
}

TEST(ReadJson, RefusesNestingThatWouldOverflowTheStack) {
  const test::TemporaryDirectory folder;
  const auto nested = [&](std::size_t levels) {
    test::write_file(folder / "a.json", std::string(levels, '[') + R"("]\"[")" + std::string(levels, ']'));
    return error_of([&] { read_json(folder / "a.json"); });
  };
  EXPECT_EQ(nested(100), "no error");
  const std::string refused = (folder / "a.json") + ": not valid JSON: nested more than 100 levels deep";
  EXPECT_EQ(nested(101), refused);
  EXPECT_EQ(nested(1'000'000), refused);
}

}  // namespace
}  // namespace trasmuon::lab
