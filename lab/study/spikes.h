// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace trasmuon::lab {

/// A spike is a loss above `threshold` times the median of the `window` losses before it; consecutive ones are one
/// spike. The first `window` losses have no such median and are none. A loss that is not finite counts as infinite.
struct SpikeRule {
  double threshold = 1.4;
  std::size_t window = 20;
};

struct Spikes {
  int count = 0;
  double peak = 0;  ///< largest loss over its median, spike or not; 0 when there are too few losses
};

Spikes find_spikes(std::span<const double> losses, const SpikeRule& rule = {});

}  // namespace trasmuon::lab
