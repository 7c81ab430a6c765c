// SPDX-License-Identifier: Apache-2.0
#include "peers/libtorch_trasmuon.h"

#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "trasmuon/error.h"
#include "trasmuon/orthogonalize.h"

namespace trasmuon::bench {
namespace {

/// X <- aX + (bA + cA^2)X with A = X X^T, for an X that is already normalised.
torch::Tensor newton_schulz(torch::Tensor x, int steps, const CoefficientSet& set) {
  const bool tall = x.size(0) > x.size(1);
  if (tall) x = x.t();
  for (int i = 0; i < steps; ++i) {
    const auto [a, b, c] = set.triples[std::min(static_cast<std::size_t>(i), set.triples.size() - 1)];
    const torch::Tensor gram = torch::mm(x, x.t());
    const torch::Tensor polynomial = torch::addmm(gram, gram, gram, b, c);
    x = torch::addmm(x, polynomial, x, a);
  }
  return tall ? x.t() : x;
}

}  // namespace

LibTorchTrasMuon::LibTorchTrasMuon(std::vector<torch::Tensor> weights, const TrasMuonOptions& options)
    : options_(options), weights_(std::move(weights)) {
  const bool all_stages = options.orthogonalize && options.row_scale && options.calibrate;
  if (options.clip != Clip::soft || !all_stages) {
    throw Error("libtorch_trasmuon: supports only the default rule with all stages and the soft clip");
  }
  for (const torch::Tensor& weight : weights_) {
    State state;
    state.momentum = torch::zeros_like(weight);
    state.v_row = torch::zeros({weight.size(0), 1}, weight.options());
    state.c_ema = torch::ones({weight.size(1)}, weight.options());
    state.c_last = torch::ones_like(state.c_ema);
    state.c_sum = torch::zeros_like(state.c_ema);
    states_.push_back(std::move(state));
  }
}

void LibTorchTrasMuon::step(const std::vector<torch::Tensor>& gradients) {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) step_matrix(weights_[i], gradients[i], states_[i]);
}

void LibTorchTrasMuon::step_matrix(torch::Tensor& weight, const torch::Tensor& gradient, State& state) const {
  const TrasMuonOptions& o = options_;
  const double m = static_cast<double>(weight.size(0)), n = static_cast<double>(weight.size(1));
  // A NaN or Inf in the gradient makes the sum non-finite; this is cheaper than isfinite().all().
  if (!std::isfinite(gradient.sum().item<double>())) return;
  ++state.t;

  state.momentum.lerp_(gradient, 1 - o.beta1);
  const torch::Tensor energy = state.momentum.square().sum(0);
  const torch::Tensor input = o.nesterov ? gradient.lerp(state.momentum, o.beta1) : state.momentum;
  const double norm = o.nesterov ? input.norm().item<double>() : std::sqrt(energy.sum().item<double>());
  torch::Tensor direction =
      newton_schulz(input / (norm + o.eps * norm / std::sqrt(m * n)), o.ns_steps, coefficient_set(o.coefficients));

  state.v_row.mul_(o.beta2).add_(direction.square().mean(1, /*keepdim=*/true), 1 - o.beta2);
  direction.mul_(state.v_row.add(o.eps).rsqrt_());
  const double eta_hat = o.lr * o.rms_scale * std::sqrt(m * n) / (direction.norm().item<double>() + o.eps);

  const torch::Tensor c = trust_region(energy, state, std::min(m, n) >= o.min_damped_dim);
  weight.mul_(1 - o.lr * o.weight_decay).addcmul_(direction, c, -eta_hat);
}

torch::Tensor LibTorchTrasMuon::trust_region(const torch::Tensor& energy, State& state, bool large_enough) const {
  const TrasMuonOptions& o = options_;
  const double median = torch::quantile(energy, 0.5).item<double>();  // even n: the mean of the two middle ones
  state.e_ref = o.beta_energy * state.e_ref + (1 - o.beta_energy) * median;
  const double gamma = o.gamma.kind == Gamma::Kind::number ? o.gamma.value : o.lr;
  state.gamma_sum += gamma * gamma;
  state.c_sum.add_(state.c_last, gamma * gamma);

  const bool damped = large_enough && state.t > o.warmup;
  const double reference = state.e_ref / (1 - std::pow(o.beta_energy, static_cast<double>(state.t)));
  if (damped && state.t % o.period == 0) {
    if (reference > o.eps_energy) {
      const torch::Tensor r = energy / reference;
      const torch::Tensor soft = r.log1p().mul_(o.alpha).add_(1).reciprocal_().clamp_(o.c_min, 1);
      state.c_ema.mul_(o.beta_clip).add_(torch::where(r > o.trigger, soft, torch::ones_like(soft)), 1 - o.beta_clip);
    } else {
      state.c_ema.mul_(o.beta_clip).add_(1 - o.beta_clip);
    }
  }
  if (damped) {
    const torch::Tensor c_avg = state.gamma_sum > 0 ? state.c_sum / state.gamma_sum : torch::ones_like(state.c_sum);
    state.c_last = torch::lerp(state.c_ema, c_avg, o.rho).clamp_(o.c_min, 1);
  } else {
    state.c_last.fill_(1);
  }
  return state.c_last;
}

}  // namespace trasmuon::bench
