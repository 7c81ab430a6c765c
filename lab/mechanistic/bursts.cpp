// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/bursts.h"

#include <cstddef>
#include <numeric>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

constexpr std::uint32_t kColumns = 100, kMixing = 101;  // streams of the seed, apart from the problem's

std::vector<double> identity(int n) {
  std::vector<double> x(static_cast<std::size_t>(n) * n);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i) * n + i] = 1;
  return x;
}

}  // namespace

Bursts::Bursts(const BurstOptions& options, int dim, int steps, std::uint64_t seed) : options_(options), dim_(dim) {
  Random columns(seed, kColumns), mixing(seed, kMixing);
  basis_ = options.mixed ? haar_rotation(dim, mixing) : identity(dim);
  for (int burst = 0; burst <= steps / options.period + 2; ++burst) {
    for (const int column : distinct_below(dim, options.columns, columns)) hits_.push_back(column);
  }
}

std::span<const int> Bursts::hit(int step) const {
  const int to_first = options_.phase > 0 ? options_.period - options_.phase : 0;  // the first burst is number 1
  const int nearest = (step + to_first + (options_.period - 1) / 2) / options_.period;
  return std::span(hits_).subspan(static_cast<std::size_t>(nearest) * options_.columns, options_.columns);
}

void Bursts::scale(int step, std::span<double> matrix, double factor) const {
  // With a direction q of the basis: M + (factor - 1) (M q) q^T. The directions are orthogonal, so one by one.
  for (const int column : hit(step)) {
    const double* q = &basis_[static_cast<std::size_t>(column) * dim_];
    for (int i = 0; i < dim_; ++i) {
      double* row = &matrix[static_cast<std::size_t>(i) * dim_];
      const double added = (factor - 1) * std::inner_product(row, row + dim_, q, 0.0);
      for (int j = 0; j < dim_; ++j) row[j] += added * q[j];
    }
  }
}

double Bursts::damping(int step, std::span<const double> c) const {
  double sum = 0;
  for (const int column : hit(step)) {
    const double* q = &basis_[static_cast<std::size_t>(column) * dim_];
    for (int j = 0; j < dim_; ++j) sum += q[j] * q[j] * c[j];
  }
  return sum / options_.columns;
}

}  // namespace trasmuon::lab
