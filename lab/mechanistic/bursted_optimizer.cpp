// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/bursted_optimizer.h"

#include <algorithm>
#include <variant>

namespace trasmuon::lab {
namespace {

std::span<double> state_values(const Optimizer& optimizer, std::string_view name) {
  const TensorView view = optimizer.state(0, name);
  return {static_cast<double*>(view.data), static_cast<std::size_t>(view.shape.elements())};
}

TrasMuonOptions damping_only(TrasMuonOptions options) {
  options.orthogonalize = options.row_scale = options.calibrate = false;  // c depends on the momentum alone
  return options;
}

}  // namespace

BurstedOptimizer::BurstedOptimizer(const Options& options, std::span<double> weight, int dim, const Bursts* bursts)
    : optimizer_({{options, {{"w", view(weight.data(), {dim, dim})}}}}, {.diagnostics = true}), bursts_(bursts) {
  momentum_ = state_values(optimizer_, std::holds_alternative<AdamWOptions>(options) ? "exp_avg" : "momentum");
  if (std::holds_alternative<TrasMuonOptions>(options)) damping_ = state_values(optimizer_, "c_last");
}

void BurstedOptimizer::step(int step, std::span<double> gradient) {
  const TensorView gradients[] = {view(gradient.data(), optimizer_.parameter(0).weight.shape)};
  if (!bursts_at(step)) return optimizer_.step(gradients);
  // The momentum is linear in itself and the gradient: with both amplified the step sees the amplified momentum.
  bursts_->amplify(step, momentum_);
  bursts_->amplify(step, gradient);
  optimizer_.step(gradients);
  bursts_->restore(step, momentum_);
}

ShadowDamping::ShadowDamping(const TrasMuonOptions& options, int dim, const Bursts* bursts)
    : weight_(static_cast<std::size_t>(dim) * dim),
      gradient_(weight_.size()),
      bursted_(damping_only(options), weight_, dim, bursts) {}

double ShadowDamping::step(int step, std::span<const double> gradient) {
  std::copy(gradient.begin(), gradient.end(), gradient_.begin());
  bursted_.step(step, gradient_);
  return bursted_.diagnostics().c_mean;
}

}  // namespace trasmuon::lab
