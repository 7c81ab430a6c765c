// SPDX-License-Identifier: Apache-2.0
#include "lab/study/random.h"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <utility>

namespace trasmuon::lab {

Random::Random(std::uint64_t seed, std::uint32_t stream) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), stream};
  engine_.seed(sequence);
}

int Random::below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }

double Random::uniform() { return (static_cast<double>(engine_() >> 11) + 1) * 0x1p-53; }

double Random::normal() {  // Box-Muller, one of the pair
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<double> gaussian_matrix(int n, Random& random) {
  std::vector<double> x(static_cast<std::size_t>(n) * n);
  for (double& value : x) value = random.normal();
  return x;
}

std::vector<double> haar_rotation(int n, Random& random) {
  // Gram-Schmidt on the rows of a Gaussian matrix.
  std::vector<double> u = gaussian_matrix(n, random);
  for (int i = 0; i < n; ++i) {
    double* row = &u[static_cast<std::size_t>(i) * n];
    for (int pass = 0; pass < 2; ++pass) {  // once more for the rounding errors
      for (int j = 0; j < i; ++j) {
        const double* other = &u[static_cast<std::size_t>(j) * n];
        const double along = std::inner_product(row, row + n, other, 0.0);
        for (int k = 0; k < n; ++k) row[k] -= along * other[k];
      }
    }
    const double length = std::sqrt(std::inner_product(row, row + n, row, 0.0));
    for (int k = 0; k < n; ++k) row[k] /= length;
  }
  return u;
}

std::vector<int> distinct_below(int n, int count, Random& random) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(n - i)]);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

}  // namespace trasmuon::lab
