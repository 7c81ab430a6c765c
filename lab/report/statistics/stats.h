// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace trasmuon::lab {

/// Quantile with linear interpolation, as numpy and R compute it by default. Ignores NaN, keeps infinities. NaN if
/// empty.
double quantile(std::vector<double> values, double p);

/// Median and quartiles.
struct Spread {
  std::size_t count = 0;  ///< values, without NaN
  double median, low, high;
};
Spread spread_of(const std::vector<double>& values);
bool overlap(const Spread& a, const Spread& b);  ///< of the interquartile ranges, ends included

/// Mean and sample standard deviation; the latter is NaN with fewer than two values.
struct MeanDeviation {
  std::size_t count = 0;
  double mean, deviation;
};
MeanDeviation mean_deviation(const std::vector<double>& values);

/// One number per seed.
using BySeed = std::map<std::uint64_t, double>;

/// A method compared with a baseline on the seeds that both have.
struct Pairing {
  std::size_t lower = 0, higher = 0, equal = 0;
  std::size_t count() const { return lower + higher + equal; }
  double p = 1;  ///< two-sided sign test without equal pairs
  bool mostly_lower() const { return count() > 0 && 4 * lower >= 3 * count(); }  ///< in 3/4 of the seeds
  bool mostly_higher() const { return count() > 0 && 4 * higher >= 3 * count(); }
  bool clearly_lower() const { return mostly_lower() && p < 0.05; }  ///< and significant
  bool clearly_higher() const { return mostly_higher() && p < 0.05; }
};
Pairing compare(const BySeed& method, const BySeed& baseline);

/// baseline / method, seed by seed: above 1 where the method is lower.
BySeed ratios(const BySeed& baseline, const BySeed& method);
/// a - b, seed by seed.
BySeed differences(const BySeed& a, const BySeed& b);
std::vector<double> values_of(const BySeed& by_seed);

/// P(at least as unequal | a fair coin), two-sided.
double sign_test(std::size_t wins, std::size_t losses);

}  // namespace trasmuon::lab
