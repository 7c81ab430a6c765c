// SPDX-License-Identifier: Apache-2.0
// Files damaged blindly, as disks and copies damage them.
#include <gtest/gtest.h>

#include <random>

#include "checkpoint/models.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

class DamagedCheckpoint : public testing::Test {
 protected:
  void prepare(const std::vector<Group>& groups) {
    Model saved(groups);
    saved.train(0, 4);
    save_checkpoint(saved.optimizer(), path_);
    sound_ = read_file(path_);
    model_.emplace(groups);
    model_->train(0, 1);
    before_ = model_->snapshot();
    ASSERT_NE(before_.state, saved.snapshot().state);
  }

  /// Returns whether loading `bytes` fails and leaves the optimizer as it was.
  [[nodiscard]] bool refused(const std::string& bytes) {
    write_file(path_, bytes);
    const std::string error = error_of([&] { load_checkpoint(model_->optimizer(), path_); });
    return error != "no error" && model_->snapshot() == before_;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run";
  std::string sound_;
  std::optional<Model> model_;
  Snapshot before_;
};

TEST_F(DamagedCheckpoint, EveryBitFlipIsNoticed) {
  prepare(tiny());
  for (std::size_t bit = 0; bit < 8 * sound_.size(); ++bit) {
    std::string damaged = sound_;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_TRUE(refused(damaged)) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST_F(DamagedCheckpoint, EveryTruncationIsNoticed) {
  prepare(tiny());
  for (std::size_t length = 0; length < sound_.size(); ++length) {
    ASSERT_TRUE(refused(sound_.substr(0, length))) << length << " of " << sound_.size() << " bytes";
  }
}

TEST_F(DamagedCheckpoint, RandomBytesAreNoticed) {
  prepare(every_rule());
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    // Up to four neighbouring bytes: CRC-32 is sure to detect these. Never blanks: padding may be any kind of
    // blank.
    std::string damaged = sound_;
    const std::size_t first = random() % damaged.size();
    const std::size_t last = std::min(damaged.size(), first + 1 + random() % 4);
    for (std::size_t i = first; i < last; ++i) damaged[i] = static_cast<char>('!' + random() % 200);
    if (damaged == sound_) continue;
    ASSERT_TRUE(refused(damaged)) << "round " << round << ": bytes " << first << " to " << last;
  }
}

TEST_F(DamagedCheckpoint, TheSoundFileStillLoads) {
  prepare(every_rule());
  EXPECT_FALSE(refused(sound_));
  EXPECT_FALSE(model_->snapshot() == before_);
}

}  // namespace
}  // namespace trasmuon::test
