// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/quadratic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

using Matrix = std::vector<double>;

double dot(const Matrix& a, const Matrix& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

Matrix plus(Matrix a, const Matrix& b, double factor = 1) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
  return a;
}

struct Evaluation {
  double value;
  Matrix gradient;
};

Evaluation evaluate(const Quadratic& problem, const Matrix& w) {
  Evaluation result{0, Matrix(w.size())};
  result.value = problem.evaluate(w, result.gradient);
  return result;
}

/// The Hessian times D: the gradient is affine.
Matrix curvature(const Quadratic& problem, const Matrix& d) {
  return plus(evaluate(problem, d).gradient, evaluate(problem, Matrix(d.size())).gradient, -1);
}

Matrix random_matrix(int n, std::uint64_t seed) {
  Random random(seed, 50);
  return gaussian_matrix(n, random);
}

Matrix minimum(int n, std::uint64_t seed) {
  // With kappa = 1 the gradient at 0 is -W*, and W* does not depend on the options.
  Matrix w = evaluate(Quadratic({.dim = n, .kappa = 1}, seed), Matrix(n * n)).gradient;
  for (double& x : w) x = -x;
  return w;
}

std::vector<QuadraticOptions> variants(int dim, double kappa) {
  std::vector<QuadraticOptions> all;
  for (const bool random_v : {false, true}) {
    for (const bool isotropic_b : {true, false}) all.push_back({dim, kappa, random_v, isotropic_b});
  }
  return all;
}

TEST(Quadratic, TheGradientIsTheDerivative) {
  for (const int n : {1, 3, 8, 13}) {  // no multiple of four: the product's last rows
    for (const QuadraticOptions& options : variants(n, 100)) {
      const Quadratic problem(options, 4);
      const Matrix w = random_matrix(n, 1), d = random_matrix(n, 2);
      const double above = evaluate(problem, plus(w, d, 1)).value, below = evaluate(problem, plus(w, d, -1)).value;
      const double slope = dot(evaluate(problem, w).gradient, d);
      EXPECT_NEAR((above - below) / 2, slope, 1e-12 * (above + below)) << n;  // exact for a quadratic
    }
  }
}

TEST(Quadratic, TheMinimumIsZeroAndTheSameForAllOptions) {
  for (const QuadraticOptions& options : variants(9, 1e4)) {
    const Evaluation at_minimum = evaluate(Quadratic(options, 4), minimum(9, 4));
    EXPECT_NEAR(at_minimum.value, 0, 1e-15);
    EXPECT_NEAR(dot(at_minimum.gradient, at_minimum.gradient), 0, 1e-12);  // curvature 1e8
  }
}

TEST(Quadratic, TheSolutionIsGaussian) {
  const Matrix w = minimum(64, 4);
  EXPECT_NEAR(dot(w, w) / (64 * 64), 1, 0.1);
}

TEST(Quadratic, CurvatureRunsFromOneToKappaSquared) {
  const int n = 6;
  const double kappa = 30;
  for (const bool random_v : {false, true}) {
    const Quadratic problem({.dim = n, .kappa = kappa, .random_v = random_v}, 4);
    EXPECT_DOUBLE_EQ(problem.smoothness(), kappa * kappa);
    Matrix top = random_matrix(n, 1), bottom = top;
    double largest = 0, smallest = 0;
    for (int step = 0; step < 4000; ++step) {  // power iteration on H and on L I - H
      Matrix next = curvature(problem, top);
      largest = std::sqrt(dot(next, next));
      top = plus(Matrix(next.size()), next, 1 / largest);
      next = plus(curvature(problem, bottom), bottom, -problem.smoothness());
      const double norm = std::sqrt(dot(next, next));
      bottom = plus(Matrix(next.size()), next, 1 / norm);
      smallest = problem.smoothness() - norm;
    }
    EXPECT_NEAR(largest, kappa * kappa, 1e-9 * kappa * kappa);
    EXPECT_NEAR(smallest, 1, 1e-2);
  }
}

TEST(Quadratic, OneColumnsCurvatureStaysInItWhenTheBasisIsKept) {
  const int n = 8;
  Matrix column(n * n);
  for (int i = 0; i < n; ++i) column[i * n + 3] = 1;
  double outside_kept = 0, outside_mixed = 0;
  const Matrix kept = curvature(Quadratic({.dim = n, .random_v = false}, 4), column);
  const Matrix mixed = curvature(Quadratic({.dim = n, .random_v = true}, 4), column);
  for (int i = 0; i < n * n; ++i) {
    if (i % n != 3) outside_kept += std::abs(kept[i]), outside_mixed += std::abs(mixed[i]);
  }
  EXPECT_NEAR(outside_kept, 0, 1e-6);
  EXPECT_GT(outside_mixed, 1e3);
}

TEST(Quadratic, IsotropicColumnsAreAlikeAndKeepTheLossesScale) {
  const int n = 8;
  const QuadraticOptions isotropic{.dim = n, .kappa = 100, .isotropic_b = true};
  const Matrix whole = random_matrix(n, 1);
  Matrix left(n * n), right(n * n);
  for (int i = 0; i < n; ++i) left[i * n] = right[i * n + 5] = whole[i * n];
  const Quadratic problem(isotropic, 4);
  EXPECT_NEAR(dot(left, curvature(problem, left)), dot(right, curvature(problem, right)), 1e-9);

  double alike = 0, different = 0;  // mean initial loss: the mean square of B's spectrum is kept
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    alike += evaluate(Quadratic(isotropic, seed), Matrix(n * n)).value;
    different += evaluate(Quadratic({.dim = n, .kappa = 100}, seed), Matrix(n * n)).value;
  }
  EXPECT_NEAR(alike / different, 1, 0.1);
}

TEST(Quadratic, SeedsDiffer) {
  const Matrix zero(25);
  EXPECT_NE(evaluate(Quadratic({.dim = 5}, 1), zero).value, evaluate(Quadratic({.dim = 5}, 2), zero).value);
}

}  // namespace
}  // namespace trasmuon::lab
