// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "support/reference.h"
#include "trasmuon/orthogonalize.h"

namespace trasmuon::test {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<double> column_energies(const Dense& x) {
  std::vector<double> energy(index(x.cols));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) energy[index(j)] += x(i, j) * x(i, j);
  }
  return energy;
}

double quantile_of(std::vector<double> energy, const TrasMuonOptions& o) {
  std::sort(energy.begin(), energy.end());
  const double n = static_cast<double>(energy.size());
  if (o.quantile_rule == QuantileRule::nearest)
    return energy[static_cast<std::size_t>(std::clamp(std::floor(o.quantile * n + 0.5), 1.0, n)) - 1];
  const double position = o.quantile * (n - 1), share = position - std::floor(position);
  const double upper = energy[static_cast<std::size_t>(std::ceil(position))];
  return (1 - share) * energy[static_cast<std::size_t>(position)] + share * upper;
}

}  // namespace

ReferenceTrasMuon::ReferenceTrasMuon(const TrasMuonOptions& o, Dense w0)
    : options(o),
      w(std::move(w0)),
      m(w.rows, w.cols),
      v_row(index(w.rows)),
      c_ema(index(w.cols), 1.0),
      c_last(c_ema),
      c_sum(index(w.cols)),
      history(index(w.cols)) {}

void ReferenceTrasMuon::step(const Dense& g) {
  const TrasMuonOptions& o = options;
  if (o.skip_nonfinite && !std::all_of(g.data.begin(), g.data.end(), [](double x) { return std::isfinite(x); })) {
    ++skipped;
    return;
  }
  ++t;
  for (double& value : w.data) value *= 1 - o.lr * o.weight_decay;
  for (std::size_t i = 0; i < m.data.size(); ++i) m.data[i] = o.beta1 * m.data[i] + (1 - o.beta1) * g.data[i];
  const Dense update = direction(g);
  const double size = std::sqrt(static_cast<double>(w.rows * w.cols));
  const double eta_hat = o.calibrate ? o.rms_scale * o.lr * size / (frobenius(update) + o.eps_calibration) : o.lr;
  damp(column_energies(o.energy_of == EnergyOf::momentum   ? m
                       : o.energy_of == EnergyOf::gradient ? g
                                                           : update),
       eta_hat);
  for (std::int64_t i = 0; i < w.rows; ++i) {
    for (std::int64_t j = 0; j < w.cols; ++j) w(i, j) -= eta_hat * update(i, j) * c_last[index(j)];
  }
}

/// O_base.
Dense ReferenceTrasMuon::direction(const Dense& g) {
  const TrasMuonOptions& o = options;
  Dense u = m;
  if (o.nesterov) {
    for (std::size_t i = 0; i < u.data.size(); ++i) u.data[i] = (1 - o.beta1) * g.data[i] + o.beta1 * m.data[i];
  }
  if (o.orthogonalize) {
    const double norm = frobenius(u), rms = norm / std::sqrt(static_cast<double>(w.rows * w.cols));
    double added = o.eps;
    if (o.input_eps == InputEps::twice) added = o.eps * rms + o.eps * o.eps;
    if (o.input_eps == InputEps::capped) added = o.eps * rms + std::min(o.eps * o.eps, 1e-8 * norm);
    const auto known = coefficient_set(o.coefficients).triples;
    std::vector<NewtonSchulzTriple> triples;
    for (int i = 0; i < o.ns_steps; ++i) triples.push_back(known[std::min(index(i), known.size() - 1)]);
    u = newton_schulz(u, norm > 0 ? 1 / (norm + added) : 0, triples);
  }
  if (!o.row_scale) return u;
  for (std::int64_t i = 0; i < w.rows; ++i) {
    double mean = 0;
    for (std::int64_t j = 0; j < w.cols; ++j) mean += u(i, j) * u(i, j) / static_cast<double>(w.cols);
    double& v = v_row[index(i)];
    v = o.beta2 * v + (1 - o.beta2) * mean;
    const double root = o.row_eps == RowEps::inside ? std::sqrt(v + o.eps) : std::sqrt(v) + o.eps;
    for (std::int64_t j = 0; j < w.cols; ++j) u(i, j) /= root;
  }
  return u;
}

/// Sets c_last to the damping of this step.
void ReferenceTrasMuon::damp(std::vector<double> energy, double eta_hat) {
  const TrasMuonOptions& o = options;
  const double time = static_cast<double>(t), b = o.beta_energy;
  const bool corrected = o.reference_start == ReferenceStart::corrected;
  const bool warm = t <= o.warmup;
  if (o.reference == Reference::history && corrected && o.energy_of == EnergyOf::momentum) {
    for (double& e : energy) e /= std::pow(1 - std::pow(o.beta1, time), 2);  // of the momentum without its bias
  }
  const double largest = *std::max_element(energy.begin(), energy.end());

  double gamma = o.gamma.kind == Gamma::Kind::number ? o.gamma.value : o.lr;
  if (o.gamma == Gamma::Kind::eta_hat) {
    eta_average = t == 1 ? eta_hat : o.beta_gamma * eta_average + (1 - o.beta_gamma) * eta_hat;
    gamma = std::clamp(eta_hat, o.gamma_low * eta_average, o.gamma_high * eta_average);
  }
  const double weight = warm && !o.average_warmup ? 0 : gamma * gamma;
  gamma_sum += weight;

  const double e_cur = quantile_of(energy, o);
  e_ref = o.reference_start == ReferenceStart::first && t == 1 ? e_cur : b * e_ref + (1 - b) * e_cur;
  const std::int64_t dimension = o.damped_dim == DampedDim::columns ? w.cols : std::min(w.rows, w.cols);
  const bool damped = o.clip != Clip::none && dimension >= o.min_damped_dim && !warm;
  for (std::size_t j = 0; j < energy.size(); ++j) {
    double reference = corrected ? e_ref / (1 - std::pow(b, time)) : e_ref;
    bool dead = o.eps_energy > 0 && reference <= o.eps_energy * largest;
    if (o.reference == Reference::history) {
      reference = t == 1 ? 0 : corrected ? history[j] / (1 - std::pow(b, time - 1)) : history[j];
      dead = reference <= o.eps_energy * largest;
      const double start = corrected ? energy[j] * (1 - std::pow(b, time)) : energy[j];
      const bool restart = dead && o.reference_start != ReferenceStart::zero;
      history[j] = restart ? start : b * history[j] + (1 - b) * energy[j];
    }
    c_sum[j] += weight * c_last[j];
    const double empty = o.average_start == AverageStart::one ? 1 : 0;
    const double c_avg = gamma_sum > 0 ? c_sum[j] / (gamma_sum + o.eps_average) : empty;
    if (damped && (t % o.period == 0 || (o.gate_first_step && t == 1))) {
      const double r = energy[j] / (reference + o.eps_reference);
      double inst = 1;
      if (r > o.trigger && !dead) {
        inst = o.clip == Clip::soft ? 1 / (1 + o.alpha * std::log(1 + r))
                                    : std::sqrt(o.trigger * reference / (energy[j] + o.eps_reference));
        inst = std::clamp(inst, o.c_min, 1.0);
      }
      c_ema[j] = o.beta_clip * c_ema[j] + (1 - o.beta_clip) * inst;
    }
    c_last[j] = damped ? (1 - o.rho) * c_ema[j] + o.rho * c_avg : 1.0;
    if (o.clamp_damping) c_last[j] = std::clamp(c_last[j], o.c_min, 1.0);
  }
}

}  // namespace trasmuon::test
