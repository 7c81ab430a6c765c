// SPDX-License-Identifier: Apache-2.0
// What saving keeps of a file that is there already, and of links that lead to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status;
}

class ReplacedFile : public testing::Test {
 protected:
  ReplacedFile() : model_(tiny()) {}
  void save(const std::string& path) { save_checkpoint(model_.optimizer(), path); }
  void expect_checkpoint(const std::string& path) { EXPECT_NO_THROW(load_checkpoint(model_.optimizer(), path)); }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run";
  Model model_;
};

TEST_F(ReplacedFile, ANewFileHasTheUsualMode) {
  const mode_t before = ::umask(027);
  save(path_);
  ::umask(before);
  EXPECT_EQ(status_of(path_).st_mode & 07777, 0640u);
}

TEST_F(ReplacedFile, ItsModeIsKept) {
  for (const mode_t mode : {0600, 0640, 0664, 0444, 0755}) {
    write_file(path_, "old");
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    save(path_);
    EXPECT_EQ(status_of(path_).st_mode & 07777, mode);
    expect_checkpoint(path_);
  }
}

TEST_F(ReplacedFile, ItsOwnerAndGroupAreKept) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write_file(path_, "old");
  ASSERT_EQ(::chown(path_.c_str(), 1234, 4321), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  save(path_);
  const struct stat status = status_of(path_);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 4321u);
  EXPECT_EQ(status.st_mode & 07777, 0660u);
}

TEST_F(ReplacedFile, AnotherGroupGetsNoRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another group";
  fs::permissions(directory_.path(), fs::perms(0777));
  write_file(path_, "old");
  ASSERT_EQ(::chown(path_.c_str(), 1234, 4321), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0664), 0);
  ASSERT_EQ(::seteuid(65534), 0);
  save(path_);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(status_of(path_).st_uid, 65534u);
  EXPECT_EQ(status_of(path_).st_mode & 07777, 0604u);
}

TEST_F(ReplacedFile, ALinkStaysAndLeadsToTheNewFile) {
  fs::create_directory(directory_ / "store");
  write_file(directory_ / "store/real", "old");
  ASSERT_EQ(::chmod((directory_ / "store/real").c_str(), 0600), 0);
  fs::create_symlink("store/real", path_);
  fs::create_symlink("run", directory_ / "latest");
  save(directory_ / "latest");
  EXPECT_EQ(fs::read_symlink(directory_ / "latest"), "run");
  EXPECT_EQ(fs::read_symlink(path_), "store/real");
  EXPECT_FALSE(fs::is_symlink(directory_ / "store/real"));
  EXPECT_EQ(status_of(directory_ / "store/real").st_mode & 07777, 0600u);
  expect_checkpoint(directory_ / "store/real");
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"latest", "run", "store"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "store"), {}), 1);
}

TEST_F(ReplacedFile, ALinkToNothingCreatesItsTarget) {
  fs::create_symlink(directory_ / "real", path_);
  save(path_);
  EXPECT_TRUE(fs::is_symlink(path_));
  expect_checkpoint(directory_ / "real");
}

TEST_F(ReplacedFile, LinksInACircleAreRefused) {
  fs::create_symlink("run", directory_ / "other");
  fs::create_symlink("other", path_);
  EXPECT_THAT([&] { save(path_); }, ThrowsMessage<Error>(HasSubstr("Too many levels of symbolic links")));
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"other", "run"}));
}

TEST_F(ReplacedFile, ALinkToADirectoryIsRefused) {
  fs::create_directory(directory_ / "folder");
  fs::create_symlink("folder", path_);
  EXPECT_THAT([&] { save(path_); }, ThrowsMessage<Error>(HasSubstr("must be a regular file or not exist")));
}

}  // namespace
}  // namespace trasmuon::test
