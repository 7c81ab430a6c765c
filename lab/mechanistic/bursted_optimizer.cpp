// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/bursted_optimizer.h"

#include <variant>

namespace trasmuon::lab {
namespace {

std::span<double> state_values(const Optimizer& optimizer, std::string_view name) {
  const TensorView view = optimizer.state(0, name);
  return {static_cast<double*>(view.data), static_cast<std::size_t>(view.shape.elements())};
}

}  // namespace

BurstedOptimizer::BurstedOptimizer(const Options& options, std::span<double> weight, int dim, const Bursts* bursts)
    : optimizer_({{options, {{"w", view(weight.data(), {dim, dim})}}}}, {.diagnostics = true}), bursts_(bursts) {
  const auto* adamw = std::get_if<AdamWOptions>(&options);
  if (adamw != nullptr) adamw_beta1_ = adamw->beta1;
  momentum_ = state_values(optimizer_, adamw != nullptr ? "exp_avg" : "momentum");
  if (std::holds_alternative<TrasMuonOptions>(options)) damping_ = state_values(optimizer_, "c_last");
}

void BurstedOptimizer::step(int step, std::span<double> gradient) {
  const TensorView gradients[] = {view(gradient.data(), optimizer_.parameter(0).weight.shape)};
  if (!bursts_at(step)) return optimizer_.step(gradients);
  if (adamw_beta1_ > 0) {
    prepare_first_moment(step, gradient);
  } else {
    // The momentum is linear in itself and the gradient: with both amplified the step sees the amplified momentum.
    bursts_->amplify(step, momentum_);
    bursts_->amplify(step, gradient);
  }
  optimizer_.step(gradients);
  bursts_->restore(step, momentum_);
}

/// Sets M so that b1 M + (1 - b1) G, which the step computes with the gradient as it is, is the amplified moment.
void BurstedOptimizer::prepare_first_moment(int step, std::span<const double> gradient) {
  const double b1 = adamw_beta1_;
  for (std::size_t i = 0; i < momentum_.size(); ++i) momentum_[i] = b1 * momentum_[i] + (1 - b1) * gradient[i];
  bursts_->amplify(step, momentum_);
  for (std::size_t i = 0; i < momentum_.size(); ++i) momentum_[i] = (momentum_[i] - (1 - b1) * gradient[i]) / b1;
}

}  // namespace trasmuon::lab
