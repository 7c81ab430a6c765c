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
  TrasMuonOptions o;
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
  o.ns_precision = NewtonSchulzPrecision::f32;
  o.literal = hyper["mode"] == "paper";
  o.min_damped_dim = 1;
  if (!hyper["eps_E"].is_null()) o.eps_energy = hyper["eps_E"];
  const std::string clip = hyper["clip"];
  o.clip = clip == "soft" ? Clip::soft : clip == "hard" ? Clip::hard : Clip::none;
  if (hyper["ns"] != "ns5" || hyper["q"] != 0.5) throw std::runtime_error("golden: unknown ns or q");
  return o;
}

template <class T>
Deviation replay_trajectory(const json& file, Memory& memory) {
  const std::int64_t rows = file["shape"][0], cols = file["shape"][1];
  const std::size_t elements = static_cast<std::size_t>(rows * cols);
  T* const w = memory.copy(numbers_as<T>(file["W0"]));
  Optimizer optimizer(
      {{options_of(file["hyper"]), {{.name = "W", .weight = view(w, {rows, cols}), .device = memory.device()}}}},
      {.diagnostics = true});

  Deviation worst;
  std::size_t state = 0;
  for (std::size_t i = 0; i < file["G"].size(); ++i) {
    optimizer.set(0, "lr", file["lr"][i]);
    optimizer.set(0, "gamma", file["gamma"][i]);
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
