// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "checkpoint/models.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// State of one version: every byte is `version`, and so is the learning rate.
void become_version(Optimizer& optimizer, int version) {
  for (const auto& [spec, view] : optimizer.state(0)) {
    std::memset(view.data, version, static_cast<std::size_t>(spec.shape.elements()) * size_of(spec.dtype));
  }
  optimizer.set_lr(version);
}

/// Returns the version that all of the state has, or -1.
int version_of(const Model& model) {
  const Snapshot all = model.snapshot();
  const auto version = std::to_integer<int>(all.state.at(0).at(0));
  for (const Bytes& tensor : all.state) {
    for (std::byte byte : tensor) {
      if (std::to_integer<int>(byte) != version) return -1;
    }
  }
  return get_field(model.optimizer().options(0), "lr") == std::to_string(version) ? version : -1;
}

std::vector<Group> half_a_megabyte() {
  return {{AdamWOptions{.weight_decay = 0}, {{.name = "w", .weight = {.dtype = DType::f32, .shape = {256, 256}}}}}};
}

TEST(CheckpointAtomicity, AKilledProcessLeavesAWholeFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run";
  Model model(half_a_megabyte());
  become_version(model.optimizer(), 0);
  save_checkpoint(model.optimizer(), path);
  std::mt19937 random(11);
  for (int round = 0; round < 120; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int version = 1;; version = version % 255 + 1) {
        become_version(model.optimizer(), version);
        save_checkpoint(model.optimizer(), path);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 8000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child failed by itself";
    ASSERT_NO_THROW(load_checkpoint(model.optimizer(), path)) << "round " << round;
    ASSERT_GE(version_of(model), 0) << "round " << round;
  }
}

TEST(CheckpointAtomicity, ConcurrentSavesDoNotMix) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run";
  Model one(half_a_megabyte()), two(half_a_megabyte());
  become_version(one.optimizer(), 1);
  become_version(two.optimizer(), 2);
  const auto save_often = [&](const Model& model) {
    for (int i = 0; i < 20; ++i) save_checkpoint(model.optimizer(), path);
  };
  std::thread other([&] { save_often(two); });
  save_often(one);
  other.join();
  Model loaded(half_a_megabyte());
  load_checkpoint(loaded.optimizer(), path);
  EXPECT_GT(version_of(loaded), 0);
  EXPECT_EQ(directory.names(), std::vector<std::string>{"run"});
}

class FailedSave : public testing::Test {
 protected:
  FailedSave() : model_(tiny()) {
    save_checkpoint(model_.optimizer(), path_);
    old_ = read_file(path_);
    model_.train(0, 2);
  }

  void expect_failure(const std::string& path, const std::string& why) {
    EXPECT_THAT(error_of([&] { save_checkpoint(model_.optimizer(), path); }),
                AllOf(StartsWith("save_checkpoint '" + path + "': "), HasSubstr(why)));
  }
  void expect_old_file_alone() {
    EXPECT_EQ(read_file(path_), old_);
    EXPECT_EQ(directory_.names(), std::vector<std::string>{"run"});
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run";
  Model model_;
  std::string old_;
};

TEST_F(FailedSave, NoSuchDirectory) {
  expect_failure(directory_ / "missing/run", "No such file or directory");
  expect_failure(path_ + "/run", "Not a directory");
  expect_old_file_alone();
}

TEST_F(FailedSave, TargetIsNotARegularFile) {
  std::filesystem::create_directory(directory_ / "folder");
  expect_failure(directory_ / "folder", "must be a regular file or not exist");
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"folder", "run"}));
}

TEST_F(FailedSave, DirectoryNotWritable) {
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0555));
  // Permissions do not bind root.
  const uid_t user = ::geteuid();
  ASSERT_EQ(::seteuid(user == 0 ? 65534 : user), 0);
  expect_failure(path_, "Permission denied");
  ASSERT_EQ(::seteuid(user), 0);
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  expect_old_file_alone();
}

// A limit on the size of files stands in for a full disk: some of the data is written, then writing fails.
TEST_F(FailedSave, DiskIsFull) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  for (rlim_t room : {rlim_t{0}, rlim_t{100}, static_cast<rlim_t>(old_.size() - 1)}) {
    const rlimit limit{room, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_failure(path_, "File too large");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_old_file_alone();
  }
  ::signal(SIGXFSZ, handler);
  save_checkpoint(model_.optimizer(), path_);
  EXPECT_NE(read_file(path_), old_);
}

}  // namespace
}  // namespace trasmuon::test
