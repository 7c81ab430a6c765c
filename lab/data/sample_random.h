// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon::lab {

/// Mixes all bits of x into all bits of the result; a bijection (the finalizer of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Random numbers of one sample: SplitMix64 from a seed and the sample's number, which costs nothing to start, unlike
/// the Mersenne Twister of Random. The same numbers on every platform.
class SampleRandom {
 public:
  explicit SampleRandom(std::uint64_t seed, std::uint64_t sample = 0)
      : state_(mixed(mixed(seed + kStep) ^ (sample * kStep))) {}

  std::uint64_t bits() { return mixed(state_ += kStep); }
  /// In [0, n), n >= 1 and far below 2^64, so that the bias is nil.
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  ///< in [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool coin(double probability = 0.5) { return uniform() < probability; }
  double normal();

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  std::uint64_t state_;
};

}  // namespace trasmuon::lab
