// SPDX-License-Identifier: Apache-2.0
#include "lab/data/sample_order.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <bit>

#include "lab/data/sample_random.h"

namespace trasmuon::lab {

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t count) : seed_(seed), count_(count) {
  if (count <= 0) throw Error(fmt::format("the number of samples must be > 0, got {}", count));
  half_bits_ = (std::bit_width(static_cast<std::uint64_t>(count - 1)) + 1) / 2;
}

std::int64_t SampleOrder::operator[](std::int64_t position) const {
  // A Feistel network permutes the numbers of 2 * half_bits_ bits, at most 4 * count + 1; numbers that are none of ours
  // are permuted again until one is.
  constexpr int kRounds = 6;
  const std::uint64_t key = mixed(seed_ ^ mixed(static_cast<std::uint64_t>(epoch(position)) + 1));
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto x = static_cast<std::uint64_t>(position % count_);
  do {
    std::uint64_t left = x >> half_bits_, right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mixed(mixed(key + round) + right) & mask);
      left = right;
      right = next;
    }
    x = left << half_bits_ | right;
  } while (x >= static_cast<std::uint64_t>(count_));
  return static_cast<std::int64_t>(x);
}

}  // namespace trasmuon::lab
