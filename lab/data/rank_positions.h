// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon::lab {

/// The positions in training that one of several ranks sees: of every `batch` positions an equal, consecutive share. It
/// counts them 0, 1, 2, ..., so that data can be prepared ahead without those of the other ranks.
class RankPositions {
 public:
  /// Those of the rank that sees `position`. `ranks` must divide `batch`.
  RankPositions(std::int64_t position, std::int64_t batch, std::int64_t ranks)
      : batch_(batch), share_(batch / ranks), first_(position % batch / share_ * share_) {}

  std::int64_t position(std::int64_t index) const { return index / share_ * batch_ + first_ + index % share_; }
  std::int64_t index(std::int64_t position) const { return position / batch_ * share_ + position % batch_ - first_; }
  bool operator==(const RankPositions&) const = default;

 private:
  std::int64_t batch_, share_, first_;
};

}  // namespace trasmuon::lab
