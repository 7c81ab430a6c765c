// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "optim/rule.h"

namespace trasmuon {

std::int64_t dion_rank(const DionOptions& options, std::int64_t m, std::int64_t n) {
  const double rank = std::ceil(options.rank_fraction * static_cast<double>(std::min(m, n)));
  return std::clamp(static_cast<std::int64_t>(rank), std::int64_t{1}, std::min(m, n));
}

namespace {

/// The mixer of SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every platform.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Gaussian {
 public:
  explicit Gaussian(std::uint64_t seed) : state_(seed) {}
  double operator()() {
    // Box-Muller, one of the pair.
    const double u = uniform(), v = uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  double uniform() {  // in (0, 1]
    state_ += 0x9e3779b97f4a7c15u;
    return (static_cast<double>(mix(state_) >> 11) + 1) * 0x1p-53;
  }
  std::uint64_t state_;
};

}  // namespace

void initialise_dion_basis(const DionOptions& options, std::size_t index, std::int64_t skipped,
                           const TensorView& basis) {
  // Mixed, because neighbouring states of one stream are shifted copies of each other.
  Gaussian gaussian(mix(mix(static_cast<std::uint64_t>(options.seed) + 1) ^ (index + 1)));
  for (std::int64_t i = 0; i < skipped; ++i) (void)gaussian();
  for (std::int64_t i = 0; i < basis.shape.elements(); ++i) {
    if (basis.dtype == DType::f64) static_cast<double*>(basis.data)[i] = gaussian();
    else static_cast<float*>(basis.data)[i] = static_cast<float>(gaussian());
  }
}

}  // namespace trasmuon
