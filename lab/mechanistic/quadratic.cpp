// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/quadratic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

// Streams of the seed; bursts.cpp has others.
constexpr std::uint32_t kRowRotation = 0, kColumnRotation = 1, kRowSpectrum = 2, kColumnSpectrum = 3, kSolution = 4;

/// Squares of 1 to sqrt(kappa), evenly spaced in the logarithm, in random order.
std::vector<double> squared_spectrum(const QuadraticOptions& options, Random random) {
  std::vector<double> squares;
  for (const int i : distinct_below(options.dim, options.dim, random)) {
    squares.push_back(std::pow(options.kappa, options.dim > 1 ? static_cast<double>(i) / (options.dim - 1) : 0));
  }
  return squares;
}

/// R diag(values) R^T.
std::vector<double> rotated(const std::vector<double>& r, const std::vector<double>& values) {
  const std::size_t n = values.size();
  std::vector<double> product(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) product[i * n + j] += r[i * n + k] * values[k] * r[j * n + k];
    }
  }
  return product;
}

/// Four rows of y at a time: fewer passes over the row of the product.
void multiply(std::size_t n, const double* x, const double* y, double* product) {
  std::fill_n(product, n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double* factor = x + i * n;
    double* row = product + i * n;
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
      const double *y0 = y + k * n, *y1 = y0 + n, *y2 = y1 + n, *y3 = y2 + n;
      for (std::size_t j = 0; j < n; ++j) {
        row[j] += factor[k] * y0[j] + factor[k + 1] * y1[j] + factor[k + 2] * y2[j] + factor[k + 3] * y3[j];
      }
    }
    for (; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) row[j] += factor[k] * y[k * n + j];
    }
  }
}

}  // namespace

Quadratic::Quadratic(const QuadraticOptions& options, std::uint64_t seed) : dim_(options.dim) {
  Random row_rotation(seed, kRowRotation), column_rotation(seed, kColumnRotation), solution(seed, kSolution);
  const std::vector<double> a = squared_spectrum(options, Random(seed, kRowSpectrum));
  std::vector<double> b = squared_spectrum(options, Random(seed, kColumnSpectrum));
  if (options.isotropic_b) std::fill(b.begin(), b.end(), std::accumulate(b.begin(), b.end(), 0.0) / dim_);

  smoothness_ = *std::max_element(a.begin(), a.end()) * *std::max_element(b.begin(), b.end());
  a_squared_ = rotated(haar_rotation(dim_, row_rotation), a);
  b_squared_ = options.random_v && !options.isotropic_b ? rotated(haar_rotation(dim_, column_rotation), b) : b;
  solution_ = gaussian_matrix(dim_, solution);
}

double Quadratic::evaluate(std::span<const double> w, std::span<double> gradient) const {
  const std::size_t n = static_cast<std::size_t>(dim_), size = n * n;
  std::vector<double> distance(size);
  for (std::size_t i = 0; i < size; ++i) distance[i] = w[i] - solution_[i];
  if (b_squared_.size() == n) {
    multiply(n, a_squared_.data(), distance.data(), gradient.data());
    for (std::size_t i = 0; i < size; ++i) gradient[i] *= b_squared_[i % n];
  } else {
    std::vector<double> left(size);
    multiply(n, a_squared_.data(), distance.data(), left.data());
    multiply(n, left.data(), b_squared_.data(), gradient.data());
  }
  return std::inner_product(distance.begin(), distance.end(), gradient.begin(), 0.0) / 2;
}

}  // namespace trasmuon::lab
