// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <trasmuon/trasmuon.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "lab/cli/commands.h"
#include "lab/records/machine.h"
#include "lab/runner/console.h"

namespace trasmuon::lab {
namespace {

using Sides = std::pair<std::int64_t, std::int64_t>;
const std::vector<Sides> kLayer = {{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}};  // one layer of GPT-2 small

/// Weights or gradients of the layer.
struct Matrices {
  std::vector<std::vector<float>> values;

  explicit Matrices(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 0.02f);
    for (const auto& [rows, cols] : kLayer) {
      values.emplace_back(static_cast<std::size_t>(rows * cols));
      std::generate(values.back().begin(), values.back().end(), [&] { return normal(random); });
    }
  }
  TensorView view_of(std::size_t i) { return view(values[i].data(), {kLayer[i].first, kLayer[i].second}); }
};

/// Operations of five Newton-Schulz steps as dense products, the usual implementation.
double newton_schulz_operations() {
  double sum = 0;
  for (const auto& [rows, cols] : kLayer) {
    const auto s = static_cast<double>(std::min(rows, cols)), l = static_cast<double>(std::max(rows, cols));
    sum += 5 * (4 * s * s * l + 2 * s * s * s);
  }
  return sum;
}

/// Seconds of a step: the best of a few, after one to warm up.
double best_step(const Options& options) {
  Matrices weights(1), gradients(2);
  Group group{options, {}};
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < kLayer.size(); ++i) {
    group.parameters.push_back({fmt::format("w{}", i), weights.view_of(i)});
    views.push_back(gradients.view_of(i));
  }
  Optimizer optimizer({group});
  optimizer.step(views);
  double best = HUGE_VAL, spent = 0;
  for (int i = 0; i < 3 || (i < 20 && spent < 0.5); ++i) {
    const auto start = std::chrono::steady_clock::now();
    optimizer.step(views);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

}  // namespace

int bench_command() {
  print(stdout, "One layer of GPT-2 small (7.1 M parameters, f32) on {}, {} threads\n", cpu_model(), num_threads());
  print(stdout, "{:<10} {:>12} {:>10}\n", "rule", "ms per step", "GFLOP/s");
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"}) {
    const double seconds = best_step(options_for(rule));
    const std::string_view name = rule;
    const bool newton_schulz = name != "dion" && name != "adamw";
    print(stdout, "{:<10} {:>12.1f} {:>10}\n", rule, 1e3 * seconds,
          newton_schulz ? fmt::format("{:.0f}", newton_schulz_operations() / seconds / 1e9) : "-");
  }
  print(stdout,
        "Times are the best of a few steps; `make bench` compares with LibTorch. GFLOP/s counts Newton-Schulz as dense "
        "products.\n");
  return 0;
}

}  // namespace trasmuon::lab
