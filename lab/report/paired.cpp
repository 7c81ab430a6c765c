// SPDX-License-Identifier: Apache-2.0
#include "lab/report/paired.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lab/report/format.h"
#include "lab/report/statistics/student_t.h"

namespace trasmuon::lab {

namespace {

constexpr double kCoverage = 0.95, kSimilar = 1.25;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

/// Fills in what the logarithms tell; they are finite and at least two.
void summarize(const std::vector<double>& logs, PairedEffect& effect) {
  const auto n = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / n;
  double squares = 0;
  for (const double x : logs) squares += (x - mean) * (x - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  effect.ratio = std::exp(mean);
  const bool constant = deviation <= 1e-12 * std::abs(mean);  // rounding alone
  const double error = constant ? 0 : deviation / std::sqrt(n);
  const double margin = t_critical(kCoverage, n - 1) * error;
  effect.low = std::exp(mean - margin);
  effect.high = std::exp(mean + margin);
  if (mean == 0) return;
  effect.size = constant ? std::copysign(kInfinity, mean) : mean / deviation;
  effect.p = t_two_sided_p(constant ? kInfinity : mean / error, n - 1);
}

}  // namespace

PairedEffect paired_effect(const BySeed& method, const BySeed& baseline) {
  PairedEffect effect;
  effect.pairing = compare(method, baseline);
  effect.seeds = effect.pairing.count();
  std::vector<double> logs;
  for (const auto& [seed, ratio] : ratios(method, baseline)) {
    if (std::isfinite(std::log(ratio))) logs.push_back(std::log(ratio));
  }
  effect.diverged = effect.seeds - logs.size();
  effect.low = effect.high = effect.size = kNaN;
  if (effect.diverged > 0 || logs.size() < 2) {
    effect.ratio = logs.empty() ? kNaN : std::exp(quantile(logs, 0.5));
    effect.p = effect.pairing.p;
    if (effect.diverged > 0) {
      const Pairing& seeds = effect.pairing;
      effect.ratio = seeds.lower > seeds.higher ? 0 : seeds.lower < seeds.higher ? kInfinity : 1;
    }
  } else {
    effect.size = 0;
    summarize(logs, effect);
  }
  effect.adjusted_p = effect.p;
  return effect;
}

bool PairedEffect::within(double factor) const { return known() && low >= 1 / factor && high <= factor; }

std::string PairedEffect::text() const {
  if (!known()) return "–";
  if (diverged > 0)
    return fmt::format("lower in {} of {} seeds, {} diverged, {}", pairing.lower, seeds, diverged, human_p(adjusted_p));
  if (seeds < 2) return fmt::format("× {}, one seed", human_factor(ratio));
  const std::string size_text = std::isinf(size) ? "∞" : fmt::format("{:.1f}", std::abs(size));
  const std::string sign = size < 0 && size_text != "0.0" ? "−" : "";
  return fmt::format("× {} [{}, {}], d = {}{}, {}", human_factor(ratio), human_factor(low), human_factor(high), sign,
                     size_text, human_p(adjusted_p));
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double scaled = p[order[rank]] * static_cast<double>(p.size() - rank);
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

void adjust_for_all(std::span<PairedEffect* const> effects) {
  std::vector<PairedEffect*> known;
  std::vector<double> p;
  for (PairedEffect* effect : effects) {
    if (!effect->known()) continue;
    known.push_back(effect);
    p.push_back(effect->p);
  }
  const std::vector<double> adjusted = holm(p);
  for (std::size_t i = 0; i < known.size(); ++i) known[i]->adjusted_p = adjusted[i];
}

Verdict judge_lower(const PairedEffect& effect) {
  if (!effect.known()) return Verdict::unknown;
  if (effect.clearly_lower()) return Verdict::reproduced;
  return effect.pairing.mostly_lower() ? Verdict::indicated : Verdict::not_reproduced;
}

Verdict judge_lower_than_all(std::span<const PairedEffect* const> effects) {
  std::size_t known = 0, clearly = 0, mostly = 0;  // mostly includes clearly
  for (const PairedEffect* effect : effects) {
    const Verdict verdict = judge_lower(*effect);
    known += verdict != Verdict::unknown;
    clearly += verdict == Verdict::reproduced;
    mostly += verdict == Verdict::reproduced || verdict == Verdict::indicated;
  }
  if (known == 0) return Verdict::unknown;
  if (clearly == known) return Verdict::reproduced;
  if (mostly == known) return Verdict::indicated;
  return clearly > 0 ? Verdict::in_part : Verdict::not_reproduced;
}

Verdict judge_similar(std::span<const PairedEffect* const> effects) {
  bool known = false, similar = true, differs = false;
  for (const PairedEffect* effect : effects) {
    if (!effect->known()) continue;
    known = true;
    if (effect->within(kSimilar)) continue;
    similar = false;
    differs = differs || effect->clearly_lower() || effect->clearly_higher();
  }
  if (!known) return Verdict::unknown;
  return similar ? Verdict::reproduced : differs ? Verdict::not_reproduced : Verdict::indicated;
}

Verdict judge_no_worse(const PairedEffect& effect) {
  if (!effect.known()) return Verdict::unknown;
  if (effect.clearly_lower() || (effect.diverged == 0 && effect.high <= kSimilar)) return Verdict::reproduced;
  if (effect.clearly_higher() || effect.pairing.mostly_higher()) return Verdict::not_reproduced;
  return Verdict::indicated;
}

std::string conclusion(const PairedEffect& effect) {
  if (effect.clearly_lower()) return "lower";
  if (effect.clearly_higher()) return "higher";
  if (effect.seeds < kFewSeeds) return "too few seeds to tell";
  if (effect.within(kSimilar)) return "about equal";
  return "undecided";
}

}  // namespace trasmuon::lab
