// SPDX-License-Identifier: Apache-2.0
// record_bits [STEPS]: prints one hash per trajectory (weights and state after 200 steps), over every rule, layout and
// dtype, and for ranks that share the rows. Run it before and after a change that must not alter results, and compare
// the two outputs.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "support/model.h"
#include "support/ranks.h"

namespace trasmuon::test {
namespace {

std::uint64_t hash(std::uint64_t seed, const void* data, std::size_t bytes) {  // FNV-1a
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ byte[i]) * 0x100000001b3u;
  return seed;
}

struct NamedOptions {
  std::string name;
  Options options;
};

struct NamedLayout {
  std::string name;
  Shape shape;
  bool transposed = false;
  std::vector<std::int64_t> row_blocks = {};
  std::int64_t gap = 0;  ///< elements between the rows
};

std::vector<NamedOptions> all_options() {
  std::vector<NamedOptions> list = {
      {"trasmuon", TrasMuonOptions{}},
      {"trasmuon-literal", TrasMuonOptions::paper()},
      {"trasmuon-hard", TrasMuonOptions{.clip = Clip::hard, .period = 2, .warmup = 3, .min_damped_dim = 1}},
      {"trasmuon-noclip", TrasMuonOptions{.clip = Clip::none}},
      {"trasmuon-continuous", TrasMuonOptions{.trigger = 0, .rho = 0, .gamma = 0.5}},
      {"trasmuon-nesterov-gram", TrasMuonOptions{.nesterov = true, .ns_form = NewtonSchulzForm::gram}},
      {"trasmuon-polar-8", TrasMuonOptions{.ns_steps = 8, .coefficients = "polar_express"}},
      {"trasmuon-bf16", TrasMuonOptions{.ns_precision = NewtonSchulzPrecision::bf16}},
      {"trasmuon-no-ns", TrasMuonOptions{.orthogonalize = false}},
      {"trasmuon-no-rows", TrasMuonOptions{.row_scale = false}},
      {"trasmuon-no-calibration", TrasMuonOptions{.calibrate = false}},
      {"normuon", NorMuonOptions{}},
      {"normuon-code", NorMuonOptions{.nesterov = true, .scaling = NorMuonScaling::code}},
      {"muon", MuonOptions{}},
      {"muon-match", MuonOptions{.nesterov = false, .scaling = MuonScaling::match_rms_adamw}},
      {"dion", DionOptions{}},
      {"dion-low-rank", DionOptions{.rank_fraction = 0.25, .seed = 7}},
      {"adamw", AdamWOptions{}}};
  // What these names meant before decision 16: bits are compared with those of earlier versions.
  for (auto& [name, options] : list) {
    auto* trasmuon = std::get_if<TrasMuonOptions>(&options);
    if (trasmuon == nullptr) continue;
    trasmuon->nesterov = name == "trasmuon-nesterov-gram";
    trasmuon->rms_scale = 1;
  }
  list.push_back({"trasmuon-default", TrasMuonOptions{}});
  return list;
}

std::vector<NamedLayout> all_layouts() {
  return {{"13x29", {13, 29}},
          {"72x40", {72, 40}},
          {"300x290", {300, 290}},
          {"transposed", {24, 36}, true},
          {"batch", {3, 12, 20}},
          {"conv", {8, 4, 3, 3}},
          {"blocks", {30, 16}, false, {12, 8, 10}},
          {"strided", {18, 22}, false, {}, 5},
          {"row", {1, 33}},
          {"column", {33, 1}}};
}

template <class W, class G>
std::uint64_t trajectory(const Options& options, const NamedLayout& layout, bool master, bool bf16_momentum,
                         int steps) {
  const bool elementwise = std::holds_alternative<AdamWOptions>(options);
  Options used = options;
  if (bf16_momentum) set_field(used, "momentum_dtype", "bf16");
  std::mt19937_64 rng(11);
  const Shape& shape = layout.shape;
  const std::int64_t rows = shape[0], cols = shape.elements() / rows, stride = cols + layout.gap;
  auto w = random_values<W>(rows * stride, rng);
  Parameter p{.name = "w", .weight = view(w.data(), shape, layout.gap != 0 ? stride : 0)};
  p.transposed = layout.transposed && !elementwise;
  if (!elementwise) p.row_blocks = layout.row_blocks;
  Optimizer optimizer({{used, {p}}}, {.master_weights = master, .diagnostics = true});
  const double lr = std::strtod(get_field(used, "lr").c_str(), nullptr);
  const auto* trasmuon = std::get_if<TrasMuonOptions>(&used);
  const bool skips = trasmuon == nullptr || trasmuon->skip_nonfinite;
  for (int step = 0; step < steps; ++step) {
    auto g = random_values<G>(shape.elements(), rng);
    const std::size_t at = static_cast<std::size_t>(step) % g.size();
    if (step % 17 == 5) {  // a burst in one column
      const std::int64_t width = shape[shape.rank() - 1];
      for (std::size_t i = at % static_cast<std::size_t>(width); i < g.size(); i += static_cast<std::size_t>(width)) {
        const double burst = 50 * to_double(g[i]);
        if constexpr (std::is_same_v<G, bf16>) g[i] = to_bf16(static_cast<float>(burst));
        else if constexpr (std::is_same_v<G, f16>) g[i] = to_f16(static_cast<float>(burst));
        else g[i] = static_cast<G>(burst);
      }
    }
    if (step % 41 == 40 && skips) {
      const float bad = std::numeric_limits<float>::quiet_NaN();
      if constexpr (std::is_same_v<G, bf16>) g[at] = to_bf16(bad);
      else if constexpr (std::is_same_v<G, f16>) g[at] = to_f16(bad);
      else g[at] = static_cast<G>(bad);
    }
    const TensorView gradient = step % 53 == 52 ? no_gradient() : view(g.data(), shape);
    optimizer.set(0, "lr", lr * (1 - 0.5 * step / steps));
    optimizer.step({&gradient, 1});
  }
  std::uint64_t result = hash(0xcbf29ce484222325u, w.data(), w.size() * sizeof(W));
  const auto state = state_bytes(optimizer, 0);
  result = hash(result, state.data(), state.size());
  for (const Diagnostics& d : optimizer.diagnostics(0)) {
    const double values[] = {d.r_max,        d.r_q95,      d.c_min,   d.c_mean,
                             d.damped_share, d.update_rms, d.eta_hat, d.isometry_error};
    result = hash(result, values, sizeof values);
  }
  return result;
}

void print(const std::string& rule, const std::string& layout, const char* types, std::uint64_t value) {
  std::printf("%-24s %-10s %-14s %016llx\n", rule.c_str(), layout.c_str(), types,
              static_cast<unsigned long long>(value));
}

void record(int steps) {
  for (const NamedOptions& rule : all_options()) {
    const bool pipeline =
        !std::holds_alternative<AdamWOptions>(rule.options) && !std::holds_alternative<DionOptions>(rule.options);
    for (const NamedLayout& layout : all_layouts()) {
      const int count = layout.shape.elements() > 10000 ? steps / 4 : steps;
      const auto run = [&]<class W, class G>(const char* types, bool master = false, bool bf16_momentum = false) {
        print(rule.name, layout.name, types, trajectory<W, G>(rule.options, layout, master, bf16_momentum, count));
      };
      run.operator()<double, double>("f64");
      run.operator()<float, float>("f32");
      run.operator()<bf16, bf16>("bf16");
      run.operator()<f16, float>("f16/f32");
      if (layout.gap == 0) run.operator()<bf16, bf16>("bf16+master", true);
      if (pipeline) run.operator()<float, bf16>("f32,M bf16", false, true);
    }
  }
}

/// Three ranks with uneven rows, in a quarter of the steps.
template <class T>
std::uint64_t sharded_trajectory(const Options& options, DType wire, int steps) {
  const std::vector<WholeParameter> model{{.name = "a", .shape = {72, 40}},
                                          {.name = "blocks", .shape = {31, 16}, .row_blocks = {12, 8, 11}},
                                          {.name = "few rows", .shape = {2, 33}}};
  Ranks<T> world(model, {options}, even_cuts(model, 3), wire);
  std::mt19937_64 rng(11);
  for (int step = 0; step < steps / 4; ++step) world.step(world.random_gradients(rng));
  std::uint64_t result = 0xcbf29ce484222325u;
  for (auto& rank : world.ranks()) {
    for (std::size_t p = 0; p < model.size(); ++p) {
      result = hash(result, rank.weights[p].data(), rank.weights[p].size() * sizeof(T));
      const auto state = state_bytes(*rank.optimizer, p);
      result = hash(result, state.data(), state.size());
    }
  }
  return result;
}

void record_sharded(int steps) {
  for (const NamedOptions& rule : all_options()) {
    if (std::holds_alternative<AdamWOptions>(rule.options)) continue;
    print(rule.name, "3 ranks", "f64", sharded_trajectory<double>(rule.options, DType::f32, steps));
    print(rule.name, "3 ranks", "f32", sharded_trajectory<float>(rule.options, DType::f32, steps));
    print(rule.name, "3 ranks", "f32,wire f16", sharded_trajectory<float>(rule.options, DType::f16, steps));
  }
}

}  // namespace
}  // namespace trasmuon::test

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
  trasmuon::test::record(steps);
  trasmuon::test::record_sharded(steps);
  return 0;
}
