// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon::lab {

/// The order in which training sees the samples 0 .. count - 1: every epoch has each sample once, in a random order of
/// its own. Nothing is stored, and any position is found at once, so a position is all that a checkpoint must keep.
class SampleOrder {
 public:
  /// Throws Error unless count > 0.
  SampleOrder(std::uint64_t seed, std::int64_t count);

  /// Returns the sample at `position` >= 0, counted from the beginning of training over all epochs.
  std::int64_t operator[](std::int64_t position) const;
  std::int64_t epoch(std::int64_t position) const { return position / count_; }
  std::int64_t count() const { return count_; }

 private:
  std::uint64_t seed_;
  std::int64_t count_;
  int half_bits_;
};

}  // namespace trasmuon::lab
