// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "trasmuon/trasmuon.h"

namespace trasmuon::test {
namespace {

using nlohmann::json;

/// Flattens a number, vector or matrix; null stands for NaN.
void flatten(const json& value, std::vector<double>& out) {
  if (value.is_array()) {
    for (const json& item : value) flatten(item, out);
  } else {
    out.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
}

std::vector<double> numbers(const json& value) {
  std::vector<double> out;
  flatten(value, out);
  return out;
}

template <class T>
std::vector<T> numbers_as(const json& value) {
  const std::vector<double> wide = numbers(value);
  return {wide.begin(), wide.end()};
}

std::vector<double> read_state(const Optimizer& optimizer, const char* name) {
  const TensorView tensor = optimizer.state(0, name);
  const auto count = static_cast<std::size_t>(tensor.shape.elements());
  const auto read_as = [&]<class T>(T) {
    std::vector<T> values(count);
    optimizer.read_state(0, name, values.data());
    return std::vector<double>(values.begin(), values.end());
  };
  if (tensor.dtype == DType::f64) return read_as(double{});
  return tensor.dtype == DType::f32 ? read_as(float{}) : read_as(std::int64_t{});
}

double relative(const std::vector<double>& ours, const std::vector<double>& theirs) {
  if (ours.size() != theirs.size()) throw std::runtime_error("golden: sizes differ");
  double largest = 1e-30, difference = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(theirs[i]));
    const double d = std::abs(ours[i] - theirs[i]);
    difference = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(difference, d);
  }
  return difference / largest;
}

TrasMuonOptions options_of(const json& hyper) {
  const bool paper = hyper["mode"] == "paper";
  TrasMuonOptions o = paper ? TrasMuonOptions::paper() : TrasMuonOptions{};
  o.beta1 = hyper["beta1"];
  o.beta2 = hyper["beta2"];
  o.eps = hyper["eps"];
  o.ns_steps = hyper["T"];
  o.weight_decay = hyper["weight_decay"];
  o.c_min = hyper["c_min"];
  o.alpha = hyper["alpha"];
  o.beta_energy = hyper["beta_E"];
  o.beta_clip = hyper["beta_c"];
  o.trigger = hyper["trigger"].is_null() ? 0.0 : hyper["trigger"].get<double>();
  o.period = hyper["K"];
  o.warmup = hyper["T_w"];
  o.rho = hyper["rho"];
  o.nesterov = hyper["nesterov"];
  o.rms_scale = 1;
  o.ns_precision = NewtonSchulzPrecision::f32;
  o.min_damped_dim = 1;
  o.eps_calibration = o.eps;
  if (paper) o.eps_reference = o.eps_average = o.eps;
  else if (!hyper["eps_E"].is_null()) o.eps_energy = hyper["eps_E"];
  const std::string clip = hyper["clip"];
  o.clip = clip == "soft" ? Clip::soft : clip == "hard" ? Clip::hard : Clip::none;
  if (hyper["ns"] != "ns5" || hyper["q"] != 0.5) throw std::runtime_error("golden: unknown ns or q");
  return o;
}

/// Options of trasmuon-pytorch by its own names.
TrasMuonOptions released_options_of(const json& release) {
  TrasMuonOptions o = TrasMuonOptions::released();
  o.beta1 = release["betas"][0];
  o.beta2 = release["betas"][1];
  o.eps = release["eps"];
  o.weight_decay = release["weight_decay"];
  o.ns_steps = release["ns_iters"];
  o.rms_scale = release["scale_factor"];
  if (!release["col_gate_enabled"].get<bool>()) o.clip = Clip::none;
  const std::string energy = release["col_gate_use"];
  o.energy_of = energy == "m" ? EnergyOf::momentum : energy == "g" ? EnergyOf::gradient : EnergyOf::direction;
  o.quantile = release["energy_quantile"];
  o.eps_reference = release["eps_energy"];
  o.alpha = release["col_gate_alpha"];
  o.c_min = release["col_gate_cmin"];
  o.trigger = release["use_energy_trigger"].get<bool>() ? release["energy_k"].get<double>() : 0.0;
  o.beta_clip = release["gate_ema"];
  o.period = release["col_gate_every"];
  o.min_damped_dim = release["col_gate_min_in"];
  o.beta_energy = release["E_ref_ema_beta"];
  o.warmup = release["warmup_steps"];
  o.rho = release["sf_enabled"].get<bool>() ? release["sf_mix"].get<double>() : 0.0;
  o.average_warmup = !release["sf_exclude_warmup"].get<bool>();
  o.gamma = release["gamma_source"] == "lr" ? Gamma::Kind::lr : Gamma::Kind::eta_hat;
  o.beta_gamma = release["gamma_eta_ema"];
  o.gamma_low = release["gamma_eta_lo_mul"];
  o.gamma_high = release["gamma_eta_hi_mul"];
  o.ns_precision = NewtonSchulzPrecision::f32;
  return o;
}

template <class T>
Deviation replay_trajectory(const json& file, Memory& memory) {
  const std::int64_t rows = file["shape"][0], cols = file["shape"][1];
  const std::size_t elements = static_cast<std::size_t>(rows * cols);
  T* const w = memory.copy(numbers_as<T>(file["W0"]));
  const TrasMuonOptions options =
      file.contains("release_options") ? released_options_of(file["release_options"]) : options_of(file["hyper"]);
  Optimizer optimizer({{options, {{.name = "W", .weight = view(w, {rows, cols}), .device = memory.device()}}}},
                      {.diagnostics = true});

  Deviation worst;
  std::size_t state = 0;
  for (std::size_t i = 0; i < file["G"].size(); ++i) {
    optimizer.set(0, "lr", file["lr"][i]);
    if (file.contains("gamma")) optimizer.set(0, "gamma", file["gamma"][i]);
    const TensorView gradient = view(memory.copy(numbers_as<T>(file["G"][i])), {rows, cols});
    optimizer.step({&gradient, 1});

    if (state == file["states"].size() || file["states"][state]["i"] != i + 1) continue;
    const json& expected = file["states"][state++];
    auto compare = [&](const char* name, const std::vector<double>& ours) {
      if (!expected.contains(name)) return;
      worst.include(relative(ours, numbers(expected[name])), "step " + std::to_string(i + 1) + " " + name);
    };
    const std::pair<const char*, const char*> tensors[] = {{"M", "momentum"},    {"v_row", "v_row"}, {"E_ref", "e_ref"},
                                                           {"S", "gamma_sum"},   {"C", "c_sum"},     {"c_ema", "c_ema"},
                                                           {"c_last", "c_last"}, {"t", "step"}};
    for (const auto& [theirs, ours] : tensors) compare(theirs, read_state(optimizer, ours));
    const std::vector<T> now = memory.fetch<T>(w, elements);
    compare("W", {now.begin(), now.end()});
    const Diagnostics& diagnostics = optimizer.diagnostics(0)[0];
    if (expected.value("skipped", false) == diagnostics.updated) throw std::runtime_error("golden: skipping differs");
    if (!diagnostics.updated) continue;
    compare("eta_hat", {diagnostics.eta_hat});
    if (!expected.contains("r")) continue;
    const std::vector<double> r = numbers(expected["r"]);
    // 1 + r, which the clip uses: where the momentum has cancelled, r alone has no correct digits.
    worst.include(relative({1 + diagnostics.r_max}, {1 + *std::max_element(r.begin(), r.end())}),
                  "step " + std::to_string(i + 1) + " r_max");
  }
  return worst;
}

Options baseline_options(const std::string& name, const json& hyper, double lr) {
  Options options = AdamWOptions{};
  if (name == "Muon") {
    options = MuonOptions{.nesterov = hyper.value("nesterov", true)};
  } else if (name == "NorMuon") {
    const std::string scale = hyper["scale"];
    options = NorMuonOptions{.nesterov = hyper.value("nesterov", false),
                             .scaling = scale == "code" ? NorMuonScaling::code : NorMuonScaling::paper,
                             .rms_scale = scale == "rms" ? 1.0 : 0.2};
  } else if (name == "Dion") {
    options = DionOptions{.rank_fraction = hyper["rank_frac"]};
  } else if (name != "AdamW") {
    throw std::runtime_error("golden: unknown optimizer " + name);
  }
  std::visit(
      [&](auto& o) {
        if constexpr (requires { o.ns_precision; }) o.ns_precision = NewtonSchulzPrecision::f32;
        o.lr = lr;
        o.weight_decay = hyper.value("weight_decay", 0.0);
      },
      options);
  return options;
}

template <class T>
Deviation replay_baseline(const json& item, Memory& memory) {
  const std::int64_t rows = item["W0"].size(), cols = item["W0"][0].size();
  T* const w = memory.copy(numbers_as<T>(item["W0"]));
  Optimizer optimizer({{baseline_options(item["opt"], item["hyper"], item["lr"]),
                        {{.name = "W", .weight = view(w, {rows, cols}), .device = memory.device()}}}});
  if (item.contains("Q0")) {
    const std::vector<T> q = numbers_as<T>(item["Q0"]);
    const TensorView basis = optimizer.state(0, "basis");
    if (static_cast<std::size_t>(basis.shape.elements()) != q.size())
      throw std::runtime_error("golden: Dion's rank differs");
    optimizer.write_state(0, "basis", q.data());
  }
  Deviation worst;
  std::size_t state = 0;
  for (std::size_t i = 0; i < item["G"].size(); ++i) {
    const TensorView gradient = view(memory.copy(numbers_as<T>(item["G"][i])), {rows, cols});
    optimizer.step({&gradient, 1});
    if (i != 0 && i != 5 && i != 11) continue;
    const std::string place =
        item["opt"].get<std::string>() + " " + item["hyper"].dump() + " step " + std::to_string(i + 1);
    const std::vector<T> now = memory.fetch<T>(w, static_cast<std::size_t>(rows * cols));
    worst.include(relative({now.begin(), now.end()}, numbers(item["W_steps_1_6_12"][state++])), place);
  }
  return worst;
}

template <class T>
Deviation replay_newton_schulz(const json& item, std::size_t index, Memory& memory) {
  const std::int64_t rows = item["Mt"].size(), cols = item["Mt"][0].size();
  const std::size_t elements = static_cast<std::size_t>(rows * cols);
  const T* const in = memory.copy(numbers_as<T>(item["Mt"]));
  Deviation worst;
  for (NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
    T* const out = static_cast<T*>(memory.allocate(elements * sizeof(T)));
    orthogonalize(view(in, {rows, cols}), view(out, {rows, cols}),
                  {.steps = item["T"],
                   .form = form,
                   .eps = item["eps"],
                   .precision = NewtonSchulzPrecision::f32,
                   .device = memory.device()});
    const std::vector<T> ours = memory.fetch<T>(out, elements);
    worst.include(relative({ours.begin(), ours.end()}, numbers(item["O"])), "case " + std::to_string(index));
  }
  return worst;
}

template <class T>
Deviation replay(const json& file, Memory& memory) {
  if (file.contains("states")) return replay_trajectory<T>(file, memory);
  Deviation worst;
  for (std::size_t i = 0; i < file.at("cases").size(); ++i) {
    const json& item = file["cases"][i];
    worst.include(item.contains("opt") ? replay_baseline<T>(item, memory) : replay_newton_schulz<T>(item, i, memory));
  }
  return worst;
}

}  // namespace

void Deviation::include(double value, const std::string& place) {
  if (compared++ > 0 && !(value > worst)) return;
  worst = value;
  where = place;
}

void Deviation::include(const Deviation& other) {
  const int total = compared + other.compared;
  if (other.compared > 0) include(other.worst, other.where);
  compared = total;
}

Deviation replay_golden(const std::string& path, DType dtype, Memory& memory) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  const json file = json::parse(stream);
  return dtype == DType::f64 ? replay<double>(file, memory) : replay<float>(file, memory);
}

Deviation replay_golden(const std::string& path, DType dtype) {
  Memory host;
  return replay_golden(path, dtype, host);
}

}  // namespace trasmuon::test
