// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace trasmuon::lab {

/// The same numbers on every platform, which <random>'s distributions do not promise. Streams with different numbers
/// of one seed are independent, so a problem's parts can be varied one at a time.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint32_t stream = 0);
  int below(int n);  ///< in [0, n); the bias for n far below 2^64 is nil
  double uniform();  ///< in (0, 1]
  double normal();

 private:
  std::mt19937_64 engine_;
};

/// n x n, row-major, independent standard normal entries.
std::vector<double> gaussian_matrix(int n, Random& random);

/// n x n, row-major, orthogonal, Haar-distributed.
std::vector<double> haar_rotation(int n, Random& random);

/// `count` distinct numbers of [0, n), in random order.
std::vector<int> distinct_below(int n, int count, Random& random);

}  // namespace trasmuon::lab
