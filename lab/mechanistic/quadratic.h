// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trasmuon::lab {

struct QuadraticOptions {
  int dim = 64;              ///< d
  double kappa = 1e4;        ///< condition number of W -> A W B; that of A and of B is its square root
  bool random_v = false;     ///< V is a Haar rotation; else V = I and columns of W are the eigenvectors of B
  bool isotropic_b = false;  ///< B = b I, with the mean square of the spectrum it replaces
};

/// The paper's mechanistic problem, f(W) = 1/2 ||A W B - T||_F^2 with d x d matrices, row-major: A = U S_A U^T with a
/// Haar rotation U, B = V S_B V^T. Both spectra are evenly spaced in the logarithm from 1 to sqrt(kappa), each in
/// random order. T = A W* B with a Gaussian W*, so f = 1/2 ||A (W - W*) B||_F^2 and its minimum is 0.
/// For one seed U, V, W* and the orders are the same whatever the options.
class Quadratic {
 public:
  Quadratic(const QuadraticOptions& options, std::uint64_t seed);

  /// f(W); writes its gradient A^2 (W - W*) B^2.
  double evaluate(std::span<const double> w, std::span<double> gradient) const;

  int dim() const { return dim_; }
  double smoothness() const { return smoothness_; }  ///< L: largest eigenvalue of the Hessian

 private:
  int dim_;
  double smoothness_;
  std::vector<double> a_squared_, solution_;  // A^2, W*
  std::vector<double> b_squared_;             // B^2, or only its diagonal if B is diagonal
};

}  // namespace trasmuon::lab
