// SPDX-License-Identifier: Apache-2.0
#include "lab/records/files.h"

#include <gtest/gtest.h>

#include "checkpoint/temporary_directory.h"
#include "lab/support/refusal.h"

namespace trasmuon::lab {
namespace {

using test::refusal;

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
  EXPECT_EQ(refusal([&] { write_atomically(folder / "a.json", "new"); }),
            "cannot write " + (folder / "a.json") + ": No space left on device");
  EXPECT_EQ(read_text(folder / "a.json"), "old");
  EXPECT_THROW(write_atomically(folder / "a.json", "new"), WriteError);
}

TEST(WriteAtomically, SaysWhyNot) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(refusal([&] { write_atomically(folder / "none/a", ""); }),
            "cannot write " + (folder / "none/a") + ": No such file or directory");
  std::filesystem::create_directory(folder / "taken");
  EXPECT_EQ(refusal([&] { write_atomically(folder / "taken", ""); }),
            "cannot write " + (folder / "taken") + ": Is a directory");
}

TEST(ReadText, SaysWhyNot) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(refusal([&] { read_text(folder / "none"); }),
            "cannot read " + (folder / "none") + ": No such file or directory");
  EXPECT_EQ(refusal([&] { read_text(folder.path()); }), "cannot read " + folder.path() + ": it is a folder");
  test::write_file(folder / "a.json", "{");
  EXPECT_TRUE(refusal([&] { read_json(folder / "a.json"); }).starts_with((folder / "a.json") + ": is no JSON: "));
}

}  // namespace
}  // namespace trasmuon::lab
