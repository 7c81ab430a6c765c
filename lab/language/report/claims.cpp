// SPDX-License-Identifier: Apache-2.0
#include "lab/language/report/claims.h"

#include <fmt/format.h>

#include <cmath>

#include "lab/report/figures/figure.h"
#include "lab/report/format.h"
#include "lab/report/verdict.h"

namespace trasmuon::lab {
namespace {

/// "61 against 83, × 0.73 [0.70, 0.77], ...; 6 seeds: lower"
std::string measured(const LanguageComparison& c) {
  return fmt::format("{} against {}, {}; {} seed{}: {}", human(c.ours.median), human(c.theirs.median), effect_text(c),
                     c.effect.seeds, c.effect.seeds == 1 ? "" : "s", conclusion(c));
}

std::string brief(const LanguageComparison* c) {
  return c == nullptr ? "not run" : fmt::format("{} ({})", effect_text(*c), conclusion(*c));
}

/// Not higher: judge_no_worse with the margin of perplexities.
Verdict no_higher_perplexity(const PairedEffect& effect) {
  if (!effect.known()) return Verdict::unknown;
  if (effect.clearly_higher()) return Verdict::not_reproduced;
  if (effect.clearly_lower() || (effect.diverged == 0 && effect.high <= kEqualPerplexity)) return Verdict::reproduced;
  return effect.pairing.mostly_higher() ? Verdict::not_reproduced : Verdict::indicated;
}

/// A verdict; where the seeds are too few for one, it says so.
TableCell verdict_cell(Verdict verdict, const PairedEffect& effect) {
  const bool clear = effect.clearly_lower() || effect.clearly_higher();
  if (!clear && effect.seeds < kFewSeeds) return {"too few seeds", "", Tone::muted};
  return claim_verdict(verdict);
}

/// The method whose best rate gives the lowest loss.
const SeedGroup* best_of_all(const LanguageGroups& groups) {
  std::vector<const SeedGroup*> best;
  for (const std::string& method : groups.methods("sweep"))
    if (const SeedGroup* group = best_of(groups.sweep(method), kFinalLoss)) best.push_back(group);
  return best_of(best, kFinalLoss);
}

double rate_of(const SeedGroup& group) { return spread_of(&group, "lr").median; }

/// Whether the best rate lies at an end of the sweep, so that a better one may lie outside.
bool at_an_end(const LanguageGroups& groups, const SeedGroup& best) {
  const auto sweep = groups.sweep(best.method);
  bool lower = false, higher = false;
  for (const SeedGroup* group : sweep) {
    if (group->runs.empty()) continue;
    lower |= rate_of(*group) < rate_of(best);
    higher |= rate_of(*group) > rate_of(best);
  }
  return !lower || !higher;
}

std::string burst_sentence(const LanguageGroups& groups) {
  const SeedGroup* group = groups.shared("trasmuon", true);
  if (group == nullptr) group = best_of(groups.sweep("trasmuon"), kFinalLoss);
  const Spread triggered = spread_of(group, "triggered_settled"), damped = spread_of(group, "damped_settled");
  if (triggered.count == 0) return {};
  return fmt::format(
      "Natural bursts: after step 100 the trigger fires in {} of the matrices of a step and damps {} of their columns; "
      "the largest ratio r of a step has median {}.",
      human_percent(triggered.median), human_percent(damped.median), human(spread_of(group, "r_max_settled").median));
}

}  // namespace

Table language_claims(const LanguageGroups&, const LanguageComparisons& comparisons) {
  Table table{
      "The paper's claims", {{"claim", false}, {"these runs", false}, {"controls", false}, {"verdict", false}}, {}};
  struct Claim {
    const char *text, *where, *quantity, *baseline;
    Verdict (*judge)(const PairedEffect&);
  };
  const Claim claims[] = {
      {"With warm-up TrasMuon reaches the target loss in fewer steps than Muon", kWarm, kSteps, "muon", judge_lower},
      {"and than AdamW", kWarm, kSteps, "adamw", judge_lower},
      {"Without warm-up TrasMuon reaches it in fewer steps than Muon", kCold, kSteps, "muon", judge_lower},
      {"and than AdamW", kCold, kSteps, "adamw", judge_lower},
      {"It ends lowest or about equal: Muon, with warm-up", kWarm, kPerplexity, "muon", no_higher_perplexity},
      {"NorMuon, with warm-up", kWarm, kPerplexity, "normuon", no_higher_perplexity},
      {"Muon, without warm-up", kCold, kPerplexity, "muon", no_higher_perplexity},
      {"AdamW, without warm-up", kCold, kPerplexity, "adamw", no_higher_perplexity}};
  for (const Claim& claim : claims) {
    const LanguageComparison* found = comparisons.find(claim.where, claim.quantity, claim.baseline);
    if (found == nullptr) continue;
    const std::string controls = fmt::format("perplexity with each at its best rate {}; update RMS matched {}",
                                             brief(comparisons.find(kTuned, kPerplexity, claim.baseline)),
                                             brief(comparisons.find(kMatched, kPerplexity, claim.baseline)));
    table.rows.push_back({{claim.text},
                          {found->quantity + ": " + measured(*found)},
                          {controls},
                          verdict_cell(claim.judge(found->effect), found->effect)});
  }
  return table;
}

std::vector<std::string> language_findings(const LanguageGroups& groups, const LanguageComparisons& comparisons) {
  std::vector<std::string> findings;
  if (const SeedGroup* best = best_of_all(groups)) {
    findings.push_back(fmt::format(
        "The lowest validation loss, {}, has {} at lr {} (median over {} seeds; the rate was chosen on these seeds{}).",
        human(spread_of(best, kFinalLoss).median), method_label(best->method), plain(rate_of(*best)), best->runs.size(),
        at_an_end(groups, *best) ? "; it is at an end of the sweep, so a better one may lie outside" : ""));
  }
  const auto add = [&](const std::string& text, const LanguageComparison* found) {
    if (found != nullptr) findings.push_back(text + ": perplexity " + measured(*found) + ".");
  };
  for (const char* baseline : {"muon", "normuon", "adamw"})
    add(fmt::format("Each seed at the rate that is best for the others, TrasMuon against {}", method_label(baseline)),
        comparisons.find(kTuned, kPerplexity, baseline));
  add("With the same update RMS, TrasMuon against Muon", comparisons.find(kMatched, kPerplexity, "muon"));
  add("With Nesterov momentum in both, TrasMuon against Muon", comparisons.find(kNesterov, kPerplexity, "muon"));
  for (const char* baseline : {"muon", "normuon"})
    add(fmt::format("With Nesterov momentum in both and each at its best rate, TrasMuon against {}",
                    method_label(baseline)),
        comparisons.find(kNesterovTuned, kPerplexity, baseline));
  add("Damping alone, TrasMuon against noclip", comparisons.find(kWarm, kPerplexity, "noclip"));
  add("Damping of its own columns against that of other columns (placebo)",
      comparisons.find(kControls, kPerplexity, "permuted"));
  for (const char* other : {"5 steps of keller", "4 steps of keller"})
    add(fmt::format("TrasMuon with four Newton-Schulz steps of minimax4 against {}", other),
        comparisons.find(kIteration, kPerplexity, other));
  if (std::string bursts = burst_sentence(groups); !bursts.empty()) findings.push_back(std::move(bursts));
  return findings;
}

}  // namespace trasmuon::lab
