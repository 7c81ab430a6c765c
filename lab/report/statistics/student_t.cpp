// SPDX-License-Identifier: Apache-2.0
#include "lab/report/statistics/student_t.h"

#include <cmath>

namespace trasmuon::lab {

namespace {

/// The regularized incomplete beta function I_x(a, b) for x < (a + 1) / (a + b + 2), where its continued fraction
/// converges fast; evaluated from the front by the modified Lentz method.
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 10'000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), product = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    product *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    product *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  const double front = a * std::log(x) + b * std::log1p(-x) + std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
  return std::exp(front) * product / a;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  return x < (a + 1) / (a + b + 2) ? beta_fraction(x, a, b) : 1 - beta_fraction(1 - x, b, a);
}

}  // namespace

double t_two_sided_p(double t, double freedom) {
  if (std::isinf(t)) return 0;
  return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double t_critical(double coverage, double freedom) {
  double low = 0, high = 1;
  while (t_two_sided_p(high, freedom) > 1 - coverage) high *= 2;
  for (int halving = 0; halving < 100; ++halving) {
    const double middle = (low + high) / 2;
    (t_two_sided_p(middle, freedom) > 1 - coverage ? low : high) = middle;
  }
  return high;
}

}  // namespace trasmuon::lab
