// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "trasmuon/options.h"

// The algorithm in double with plain loops, slow and simple: the fast paths are compared with it. W is always [out,
// in], packed.
namespace trasmuon::test {

struct Dense {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> data;

  Dense() = default;
  Dense(std::int64_t r, std::int64_t c) : rows(r), cols(c), data(static_cast<std::size_t>(r * c)) {}
  double& operator()(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i * cols + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i * cols + j)]; }
};

Dense multiply(const Dense& a, const Dense& b);
Dense transpose(const Dense& a);
double frobenius(const Dense& a);
Dense random_normal(std::int64_t rows, std::int64_t cols, std::mt19937_64& rng, double scale = 1);

/// Eigenvectors (columns) and eigenvalues of a symmetric matrix, by Jacobi rotations.
void symmetric_eigen(Dense a, Dense& vectors, std::vector<double>& values);
/// sum over singular triples u f(sigma) v^T, with f applied to the exact singular values.
Dense apply_to_singular_values(const Dense& a, double (*f)(double sigma, const void* context), const void* context);
/// The exact polar factor U V^T.
Dense polar(const Dense& a);
/// T steps of X <- aX + (bA + cA^2)X on X = a * scale.
Dense newton_schulz(const Dense& a, double scale, const std::vector<NewtonSchulzTriple>& triples);

/// TrasMuon's state and step with all its options.
struct ReferenceTrasMuon {
  TrasMuonOptions options;
  Dense w, m;
  std::vector<double> v_row, c_ema, c_last, c_sum, history;
  double e_ref = 0, gamma_sum = 0, eta_average = 0;
  std::int64_t t = 0, skipped = 0;

  ReferenceTrasMuon(const TrasMuonOptions& options, Dense w0);
  void step(const Dense& gradient);

 private:
  Dense direction(const Dense& gradient);
  void damp(std::vector<double> energy, double eta_hat);
};

}  // namespace trasmuon::test
