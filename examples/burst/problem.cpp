// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

namespace burst {
namespace {

/// The same numbers on every platform, which <random>'s distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11) + 1) * 0x1p-53; }  // in (0, 1]
  std::mt19937_64 engine_;
};

std::vector<double> gaussian_matrix(Random& random) {
  std::vector<double> x(kDim * kDim);
  for (double& value : x) value = random.normal();
  return x;
}

/// Haar-distributed: Gram-Schmidt on the rows of a Gaussian matrix.
std::vector<double> random_rotation(Random& random) {
  std::vector<double> u = gaussian_matrix(random);
  auto dot = [&](const double* x, const double* y) {
    double sum = 0;
    for (int k = 0; k < kDim; ++k) sum += x[k] * y[k];
    return sum;
  };
  for (int i = 0; i < kDim; ++i) {
    double* row = &u[i * kDim];
    for (int pass = 0; pass < 2; ++pass) {  // once more for the rounding errors
      for (int j = 0; j < i; ++j) {
        const double along = dot(row, &u[j * kDim]);
        for (int k = 0; k < kDim; ++k) row[k] -= along * u[j * kDim + k];
      }
    }
    const double length = std::sqrt(dot(row, row));
    for (int k = 0; k < kDim; ++k) row[k] /= length;
  }
  return u;
}

/// 1 to 100, evenly spaced in the logarithm, in random order.
std::vector<double> spectrum(Random& random) {
  std::vector<double> s(kDim);
  for (int i = 0; i < kDim; ++i) s[i] = std::pow(10.0, 2.0 * i / (kDim - 1));
  for (int i = kDim - 1; i > 0; --i) std::swap(s[i], s[random.below(i + 1)]);
  return s;
}

/// Sums eight columns at a time, so that the compiler keeps them in registers.
void multiply(std::span<const double> x, std::span<const double> y, std::span<double> product) {
  constexpr int kWidth = 8;
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; j += kWidth) {
      double sums[kWidth] = {};
      for (int k = 0; k < kDim; ++k) {
        for (int l = 0; l < kWidth; ++l) sums[l] += x[i * kDim + k] * y[k * kDim + j + l];
      }
      std::copy_n(sums, kWidth, &product[i * kDim + j]);
    }
  }
}

}  // namespace

Problem::Problem(std::uint64_t seed, int steps) {
  Random random(seed);
  const std::vector<double> u = random_rotation(random), s = spectrum(random);
  a_squared_.resize(kDim * kDim);  // U S_A^2 U^T
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) {
      for (int k = 0; k < kDim; ++k) a_squared_[i * kDim + j] += u[i * kDim + k] * s[k] * s[k] * u[j * kDim + k];
    }
  }
  b_squared_ = spectrum(random);
  for (double& b : b_squared_) b *= b;
  solution_ = gaussian_matrix(random);
  for (int burst = 0; burst <= nearest_burst(steps); ++burst) burst_columns_.push_back(random.below(kDim));
}

double Problem::evaluate(std::span<const double> w, std::span<double> gradient) const {
  std::vector<double> distance(kDim * kDim);
  for (int i = 0; i < kDim * kDim; ++i) distance[i] = w[i] - solution_[i];
  multiply(a_squared_, distance, gradient);
  double product = 0;
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) {
      gradient[i * kDim + j] *= b_squared_[j];
      product += distance[i * kDim + j] * gradient[i * kDim + j];
    }
  }
  return product / 2;
}

}  // namespace burst
