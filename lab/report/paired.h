// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/report/statistics/stats.h"
#include "lab/report/verdict.h"

namespace trasmuon::lab {

/// A method against a baseline in a positive quantity of which less is better, from the logarithms of the ratios
/// method / baseline, one per seed.
struct PairedEffect {
  std::size_t seeds = 0;     ///< that both have
  std::size_t diverged = 0;  ///< of these, with an infinite value on one side: no logarithm, so no interval
  double ratio = 1;          ///< geometric mean
  double low = 0, high = 0;  ///< 95 % confidence interval of the ratio, by Student's t on the logarithms
  double size = 0;           ///< effect size: mean of the logarithms over their standard deviation (Cohen's d_z)
  double p = 1;              ///< two-sided, of the t test; of the sign test where runs diverged
  double adjusted_p = 1;     ///< p until adjust_for_all() corrects it for the number of comparisons
  Pairing pairing;           ///< how many seeds are lower

  bool known() const { return seeds > 0; }
  bool clearly_lower() const { return known() && ratio < 1 && adjusted_p < 0.05; }
  bool clearly_higher() const { return known() && ratio > 1 && adjusted_p < 0.05; }
  bool within(double factor) const;  ///< the whole interval lies between 1 / factor and factor
  std::string text() const;          ///< "× 0.16 [0.15, 0.18], d = −6.3, p < 1e-6"
};
PairedEffect paired_effect(const BySeed& method, const BySeed& baseline);

/// Holm's correction: adjusted p-values in the order given. Rejecting those below 0.05 keeps the chance of any false
/// rejection below 0.05.
std::vector<double> holm(std::span<const double> p);
void adjust_for_all(std::span<PairedEffect* const> effects);  ///< those that are known

/// Whether the method is lower: reproduced if clearly so, indicated by 3/4 of the seeds or more.
Verdict judge_lower(const PairedEffect& effect);
/// The method must be lower than every control: reproduced if it clearly is, in part if only against some.
Verdict judge_lower_than_all(std::span<const PairedEffect* const> effects);
/// The method must be like the baseline: the interval within a factor of 1.25, or else at least no clear difference.
Verdict judge_similar(std::span<const PairedEffect* const> effects);

/// Not higher: reproduced if the interval stays below a factor of 1.25.
Verdict judge_no_worse(const PairedEffect& effect);

/// Fewer seeds than this cannot show that there is no difference.
inline constexpr std::size_t kFewSeeds = 6;

/// What an effect tells, in words: "lower", "higher", "about equal", or why it tells nothing.
std::string conclusion(const PairedEffect& effect);

/// The rules above, for readers.
inline constexpr std::string_view kPairedRule =
    "× is the geometric mean of the seeds' own ratios, in brackets its 95 % confidence interval (Student's t on the "
    "logarithms; counts get ½ added), d the effect size: the mean of the logarithms over their standard deviation. p "
    "is two-sided, from the same t test, corrected by Holm's method for all comparisons of this report. Clearly lower "
    "or higher: p < 0.05.";

}  // namespace trasmuon::lab
