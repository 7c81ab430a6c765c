// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>

namespace trasmuon::lab {

/// Measures, step by step, what the paper's convergence theorem assumes and claims (its appendix "Convergence
/// Analysis"): <grad f, dW> <= -mu eta ||grad f||^2 in every step, for one mu > 0, and then
///
///   mean ||grad f||^2 <= (f(W_0) - f*) / (mu eta T) + L eta mn / (2 mu).
class Stationarity {
 public:
  explicit Stationarity(double eta) : eta_(eta) {}  ///< NaN where the theorem does not apply

  /// The gradient of f at `before`, and the weights before and after the step.
  void observe(std::span<const double> gradient, std::span<const double> before, std::span<const double> after);

  int misaligned() const { return misaligned_; }   ///< steps with <grad f, dW> >= 0: uphill to first order
  double mu() const { return steepness_ / eta_; }  ///< the largest that fits all steps; <= 0 if any is misaligned
  double mean_squared_gradient() const { return squares_ / steps_; }
  /// The theorem's bound on that mean; NaN where it does not apply or its assumption fails.
  double bound(double first_loss_above_minimum, double smoothness) const;

 private:
  double eta_;
  int steps_ = 0, misaligned_ = 0;
  double steepness_ = std::numeric_limits<double>::infinity();  // smallest -<grad f, dW> / ||grad f||^2
  double squares_ = 0, size_ = 0;
};

}  // namespace trasmuon::lab
