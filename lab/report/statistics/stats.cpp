// SPDX-License-Identifier: Apache-2.0
#include "lab/report/statistics/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trasmuon::lab {

namespace {

template <class Combine>
BySeed join(const BySeed& a, const BySeed& b, Combine combine) {
  BySeed joined;
  for (const auto& [seed, value] : a) {
    const auto other = b.find(seed);
    if (other != b.end()) joined[seed] = combine(value, other->second);
  }
  return joined;
}

}  // namespace

double quantile(std::vector<double> values, double p) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double weight = position - static_cast<double>(below);
  // An infinity must neither meet a zero weight nor another infinity.
  if (weight == 0 || values[below] == values[below + 1]) return values[below];
  return values[below] + weight * (values[below + 1] - values[below]);
}

Spread spread_of(const std::vector<double>& values) {
  const auto missing = std::count_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  return {values.size() - static_cast<std::size_t>(missing), quantile(values, 0.5), quantile(values, 0.25),
          quantile(values, 0.75)};
}

MeanDeviation mean_deviation(const std::vector<double>& values) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = values.empty() ? kNone : sum / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {values.size(), mean, values.size() < 2 ? kNone : std::sqrt(squares / (n - 1))};
}

bool overlap(const Spread& a, const Spread& b) { return a.low <= b.high && b.low <= a.high; }

Pairing compare(const BySeed& method, const BySeed& baseline) {
  Pairing pairing;
  for (const auto& [seed, value] : method) {
    const auto other = baseline.find(seed);
    if (other == baseline.end() || std::isnan(value) || std::isnan(other->second)) continue;
    if (value < other->second) ++pairing.lower;
    else if (value > other->second) ++pairing.higher;
    else ++pairing.equal;
  }
  pairing.p = sign_test(pairing.lower, pairing.higher);
  return pairing;
}

BySeed ratios(const BySeed& baseline, const BySeed& method) {
  return join(baseline, method, [](double b, double m) { return b / m; });
}

BySeed differences(const BySeed& a, const BySeed& b) {
  return join(a, b, [](double x, double y) { return x - y; });
}

std::vector<double> values_of(const BySeed& by_seed) {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed) values.push_back(value);
  return values;
}

double sign_test(std::size_t wins, std::size_t losses) {
  const auto count = static_cast<double>(wins + losses);
  double tail = 0, term = std::exp2(-count);  // C(count, k) / 2^count
  for (std::size_t k = 0; k <= std::min(wins, losses); ++k) {
    tail += term;
    term *= (count - static_cast<double>(k)) / static_cast<double>(k + 1);
  }
  return std::min(1.0, 2 * tail);
}

}  // namespace trasmuon::lab
