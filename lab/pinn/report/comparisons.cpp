// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/comparisons.h"

namespace trasmuon::lab {

namespace {

struct Quantity {
  const char *key, *name;
  double added = 0;  ///< to every value, so that no spikes have a logarithm too
};
constexpr Quantity kBefore{"rel_l2_before_events", "error before the events"}, kSpikes{"spikes", "spikes", 0.5},
    kPeak{"spike_peak", "highest peak"}, kVolatility{"loss_volatility_after", "volatility of the loss"},
    kLoss{"loss_after", "median loss under events"}, kError{kFinalError, "final error"};

}  // namespace

PinnComparisons::PinnComparisons(const PinnGroups& groups) {
  for (const char* baseline : {"muon", "noclip"}) {
    add_part(groups, kTable, "table", baseline);
    add_part(groups, kMatched, "matched-rms", baseline);
    add_part(groups, kNesterov, "nesterov", baseline);
    const auto ratio = [&](const char* part) {
      return ratios(by_seed(groups.at(part, "trasmuon"), kError.key), by_seed(groups.at(part, baseline), kError.key));
    };
    add(kCalm, kError.name, baseline, by_seed(groups.at("no-events", "trasmuon"), kError.key),
        by_seed(groups.at("no-events", baseline), kError.key));
    add(kShift, kError.name, baseline, ratio("table"), ratio("no-events"));
    add(kTuned, kError.name, baseline, tuned(groups.sweep("trasmuon"), kError.key),
        tuned(groups.sweep(baseline), kError.key));
  }
  for (const char* baseline : {"normuon", "adamw"})
    add(kTable, kError.name, baseline, by_seed(groups.table("trasmuon"), kError.key),
        by_seed(groups.table(baseline), kError.key));
  std::vector<PairedEffect*> effects;
  for (PinnComparison& comparison : all_) effects.push_back(&comparison.effect);
  adjust_for_all(effects);
}

void PinnComparisons::add_part(const PinnGroups& groups, const std::string& where, const std::string& part,
                               const std::string& baseline) {
  const SeedGroup *ours = groups.at(part, "trasmuon"), *theirs = groups.at(part, baseline);
  for (const Quantity& quantity : {kBefore, kSpikes, kPeak, kVolatility, kLoss, kError}) {
    // More comparisons cost all of them power: what only the paper's claims need is compared in the table with Muon.
    const bool for_all = quantity.key == kSpikes.key || quantity.key == kPeak.key || quantity.key == kError.key;
    if (!for_all && (part != "table" || baseline != "muon")) continue;
    add(where, quantity.name, baseline, by_seed(ours, quantity.key), by_seed(theirs, quantity.key), quantity.added);
  }
}

void PinnComparisons::add(const std::string& where, const std::string& quantity, const std::string& baseline,
                          BySeed ours, BySeed theirs, double added) {
  PinnComparison comparison{.where = where,
                            .quantity = quantity,
                            .baseline = baseline,
                            .ours = spread_of(values_of(ours)),
                            .theirs = spread_of(values_of(theirs)),
                            .effect = {}};
  for (BySeed* values : {&ours, &theirs})
    for (auto& [seed, value] : *values) value += added;
  comparison.effect = paired_effect(ours, theirs);
  if (comparison.effect.known()) all_.push_back(std::move(comparison));
}

const PinnComparison* PinnComparisons::find(std::string_view where, std::string_view quantity,
                                            std::string_view baseline) const {
  for (const PinnComparison& comparison : all_)
    if (comparison.where == where && comparison.quantity == quantity && comparison.baseline == baseline)
      return &comparison;
  return nullptr;
}

}  // namespace trasmuon::lab
