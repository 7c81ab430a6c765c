// SPDX-License-Identifier: Apache-2.0
// Every allocation of save_checkpoint and load_checkpoint fails once.
#include <gtest/gtest.h>

#include <functional>
#include <new>

#include "checkpoint/counted_memory.h"
#include "checkpoint/file_image.h"
#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

/// Fails one allocation of `action` after the other until it gets by without the one that would fail. After each,
/// action must have thrown std::bad_alloc, and `check` must hold.
void fail_each_allocation(const std::function<void()>& action, const std::function<void()>& check) {
  for (std::size_t count = 0;; ++count) {
    const std::size_t before = live_bytes();
    bool out_of_memory = false;
    std::size_t after = 0;
    fail_allocation_after(count);
    try {
      action();
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    } catch (const Error&) {  // the file is refused, as it should be when no allocation failed
    }
    const bool failed = allocation_failed();
    fail_allocation_after(kNever);
    after = live_bytes();
    if (!failed) {
      EXPECT_GT(count, 100u) << "hardly anything was tried";
      return;
    }
    ASSERT_TRUE(out_of_memory) << "allocation " << count;
    ASSERT_EQ(after, before) << "allocation " << count << " leaves memory behind";
    check();
    if (testing::Test::HasFailure()) FAIL() << "allocation " << count;
  }
}

class AllocationFailure : public testing::Test {
 protected:
  AllocationFailure() : model_(every_rule()) {
    save_checkpoint(model_.optimizer(), path_);
    old_ = read_file(path_);
    model_.train(0, 3);
    before_ = model_.snapshot();
  }
  void expect_nothing_happened() {
    EXPECT_EQ(read_file(path_), old_);
    EXPECT_EQ(directory_.names(), std::vector<std::string>{"run"});
    EXPECT_TRUE(model_.snapshot() == before_);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run";
  Model model_;
  std::string old_;
  Snapshot before_;
};

TEST_F(AllocationFailure, WhileSaving) {
  fail_each_allocation([&] { save_checkpoint(model_.optimizer(), path_); }, [&] { expect_nothing_happened(); });
  EXPECT_NE(read_file(path_), old_);
  EXPECT_NO_THROW(load_checkpoint(model_.optimizer(), path_));
}

TEST_F(AllocationFailure, WhileLoading) {
  fail_each_allocation([&] { load_checkpoint(model_.optimizer(), path_); }, [&] { expect_nothing_happened(); });
  EXPECT_FALSE(model_.snapshot() == before_);
}

TEST_F(AllocationFailure, WhileRefusingAFile) {
  FileImage image = FileImage::parse(old_);
  image.data.back() = static_cast<char>(~image.data.back());
  old_ = image.sealed();
  write_file(path_, old_);
  fail_each_allocation([&] { load_checkpoint(model_.optimizer(), path_); }, [&] { expect_nothing_happened(); });
  expect_nothing_happened();
}

}  // namespace
}  // namespace trasmuon::test
