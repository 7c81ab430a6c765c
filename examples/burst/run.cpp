// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <algorithm>
#include <variant>

namespace burst {
namespace {

trasmuon::TrasMuonOptions trasmuon_options(trasmuon::Clip clip, double rho) {
  return {.lr = kUpdateRms,
          .weight_decay = 0,
          .clip = clip,
          .alpha = 0.4,
          .trigger = 4,
          .warmup = kDampingStart,
          .rho = rho};
}

void scale_column(double* matrix, int column, double factor) {
  for (int i = 0; i < kDim; ++i) matrix[i * kDim + column] *= factor;
}

double lr_of(const trasmuon::Options& options) {
  return std::visit([](const auto& o) { return o.lr; }, options);
}

}  // namespace

std::vector<Method> methods() {
  using namespace trasmuon;
  // An orthogonal d x d matrix has RMS 1/sqrt(d). Dion's update has this norm exactly,
  // Muon's does not reach it; AdamW's starts at RMS lr and shrinks as it converges.
  const double isometric_lr = kUpdateRms * 8;
  static_assert(kDim == 8 * 8);
  return {
      {"AdamW", AdamWOptions{.lr = kUpdateRms, .weight_decay = 0}},
      {"Muon", MuonOptions{.lr = isometric_lr, .nesterov = false}, true},
      {"Dion", DionOptions{.lr = isometric_lr}},
      {"NorMuon", NorMuonOptions{.lr = kUpdateRms, .rms_scale = 1}},
      {"TrasMuon noclip", trasmuon_options(Clip::none, 0)},
      {"noclip at lower lr", trasmuon_options(Clip::none, 0)},
      {"TrasMuon clip-only", trasmuon_options(Clip::soft, 0)},
      {"TrasMuon clip-sf", trasmuon_options(Clip::soft, 0.1)},
  };
}

Trace run(const Problem& problem, const trasmuon::Options& options, int steps, bool bursts) {
  std::vector<double> w(kDim * kDim), gradient(kDim * kDim);
  trasmuon::Optimizer optimizer({{options, {{"w", trasmuon::view(w.data(), {kDim, kDim})}}}}, {.diagnostics = true});
  const trasmuon::TensorView gradients[] = {trasmuon::view(gradient.data(), {kDim, kDim})};
  const bool adamw = std::holds_alternative<trasmuon::AdamWOptions>(options);
  auto* momentum = static_cast<double*>(optimizer.state(0, adamw ? "exp_avg" : "momentum").data);
  const bool damps = std::holds_alternative<trasmuon::TrasMuonOptions>(options);
  const auto* c = damps ? static_cast<const double*>(optimizer.state(0, "c_last").data) : nullptr;

  Trace trace{.r_max = {0}, .c_hit = {1}, .mean_c = 0, .lr = lr_of(options)};
  for (int step = 1; step <= steps; ++step) {
    trace.loss.push_back(problem.evaluate(w, gradient));
    const int column = problem.burst_column(step);
    const bool bursting = bursts && Problem::is_burst(step);
    // The momentum is linear in itself and the gradient, so with both scaled the step sees
    // a M instead of M. Only M is put back: what else a rule keeps is its own answer.
    if (bursting) scale_column(momentum, column, kBurstFactor);
    if (bursting) scale_column(gradient.data(), column, kBurstFactor);
    optimizer.step(gradients);
    if (bursting) scale_column(momentum, column, 1 / kBurstFactor);

    const trasmuon::Diagnostics& diagnostics = optimizer.diagnostics(0).front();
    trace.r_max.push_back(diagnostics.r_max);
    trace.c_hit.push_back(c != nullptr ? c[column] : 1);
    trace.mean_c += diagnostics.c_mean / steps;
    trace.update_rms += diagnostics.update_rms / steps;
  }
  trace.loss.push_back(problem.evaluate(w, gradient));
  trace.spikes = count_spikes(trace.loss);
  return trace;
}

trasmuon::Options fit_lr(const Problem& problem, trasmuon::Options options, int steps) {
  for (int round = 0; round < 2; ++round) {
    const double rms = run(problem, options, steps, false).update_rms;
    std::visit([&](auto& o) { o.lr *= kUpdateRms / rms; }, options);
  }
  return options;
}

trasmuon::Options uniform_control(const Trace& clip_sf) {
  auto options = trasmuon_options(trasmuon::Clip::none, 0);
  options.lr *= clip_sf.mean_c;
  return options;
}

int count_spikes(const std::vector<double>& loss) {
  constexpr std::size_t kWindow = 20;
  constexpr double kThreshold = 1.4;
  int spikes = 0;
  bool inside = false;
  for (std::size_t t = kWindow; t < loss.size(); ++t) {
    const auto here = loss.begin() + static_cast<std::ptrdiff_t>(t);
    const bool above = *here > kThreshold * quantile({here - kWindow, here}, 0.5);
    if (above && !inside) ++spikes;
    inside = above;
  }
  return spikes;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace burst
