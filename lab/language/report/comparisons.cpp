// SPDX-License-Identifier: Apache-2.0
#include "lab/language/report/comparisons.h"

namespace trasmuon::lab {

std::string effect_text(const LanguageComparison& comparison) {
  std::string text = comparison.effect.text();
  const std::string diverged = "diverged";
  if (const std::size_t at = text.find(diverged); comparison.quantity == kSteps && at != std::string::npos)
    text.replace(at, diverged.size(), "with one that never gets there");
  return text;
}

std::string conclusion(const LanguageComparison& comparison) {
  const PairedEffect& effect = comparison.effect;
  const bool decided = effect.clearly_lower() || effect.clearly_higher() || effect.seeds < kFewSeeds;
  if (decided || comparison.quantity != kPerplexity) return conclusion(effect);
  return effect.within(kEqualPerplexity) ? "about equal" : "undecided";
}

LanguageComparisons::LanguageComparisons(const LanguageGroups& groups) {
  constexpr const char* kMethod = "trasmuon";
  for (const std::string& baseline : groups.runs().methods) {
    if (baseline == kMethod) continue;
    add_both(kWarm, baseline, groups.shared(kMethod, true), groups.shared(baseline, true));
    add_both(kCold, baseline, groups.shared(kMethod, false), groups.shared(baseline, false));
    add(kTuned, kPerplexity, baseline, perplexity(tuned(groups.sweep(kMethod), kFinalLoss)),
        perplexity(tuned(groups.sweep(baseline), kFinalLoss)));
    add(kMatched, kPerplexity, baseline, perplexity(by_seed(groups.matched(kMethod), kFinalLoss)),
        perplexity(by_seed(groups.matched(baseline), kFinalLoss)));
    add_both(kNesterov, baseline, groups.nesterov(kMethod, true), groups.nesterov(baseline, true));
    add_both(kPlain, baseline, groups.nesterov(kMethod, false), groups.nesterov(baseline, false));
    add(kNesterovTuned, kPerplexity, baseline, perplexity(tuned(groups.nesterov_sweep(kMethod), kFinalLoss)),
        perplexity(tuned(groups.nesterov_sweep(baseline), kFinalLoss)));
  }
  for (const char* damping : {"permuted", "mean"})
    add(kControls, kPerplexity, damping, perplexity(by_seed(groups.control("columns"), kFinalLoss)),
        perplexity(by_seed(groups.control(damping), kFinalLoss)));
  for (const int steps : {5, 4})
    add(kIteration, kPerplexity, std::to_string(steps) + " steps of keller",
        perplexity(by_seed(groups.iteration(kMethod, 4, "minimax4"), kFinalLoss)),
        perplexity(by_seed(groups.iteration(kMethod, steps, "keller"), kFinalLoss)));
  std::vector<PairedEffect*> effects;
  for (LanguageComparison& comparison : all_) effects.push_back(&comparison.effect);
  adjust_for_all(effects);
}

void LanguageComparisons::add_both(const std::string& where, const std::string& baseline, const SeedGroup* ours,
                                   const SeedGroup* theirs) {
  add(where, kSteps, baseline, steps_to_target(ours), steps_to_target(theirs));
  add(where, kPerplexity, baseline, perplexity(by_seed(ours, kFinalLoss)), perplexity(by_seed(theirs, kFinalLoss)));
}

void LanguageComparisons::add(const std::string& where, const std::string& quantity, const std::string& baseline,
                              const BySeed& ours, const BySeed& theirs) {
  LanguageComparison comparison{.where = where,
                                .quantity = quantity,
                                .baseline = baseline,
                                .ours = spread_of(values_of(ours)),
                                .theirs = spread_of(values_of(theirs)),
                                .effect = paired_effect(ours, theirs)};
  if (comparison.effect.known()) all_.push_back(std::move(comparison));
}

const LanguageComparison* LanguageComparisons::find(std::string_view where, std::string_view quantity,
                                                    std::string_view baseline) const {
  for (const LanguageComparison& comparison : all_)
    if (comparison.where == where && comparison.quantity == quantity && comparison.baseline == baseline)
      return &comparison;
  return nullptr;
}

}  // namespace trasmuon::lab
