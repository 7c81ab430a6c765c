// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lab/report/figures/figure.h"
#include "lab/report/format.h"
#include "lab/report/verdict.h"

namespace trasmuon::lab {

namespace {

constexpr double kStepSizeTolerance = 0.25;  // the paper shows a band but does not give its width

bool similar_sizes(double a, double b) { return std::abs(std::log(a / b)) <= std::log(1 + kStepSizeTolerance); }

/// "0.067 against 0.13, × 0.50 [0.41, 0.62], d = −1.2, p = 0.01; 10 seeds: lower"
std::string measured(const PinnComparison& c) {
  return fmt::format("{} against {}, {}; {} seed{}: {}", human(c.ours.median), human(c.theirs.median), c.effect.text(),
                     c.effect.seeds, c.effect.seeds == 1 ? "" : "s", conclusion(c.effect));
}

/// A verdict; where the seeds are too few for one, it says so.
TableCell verdict_cell(Verdict verdict, const PairedEffect& effect) {
  const bool clear = effect.clearly_lower() || effect.clearly_higher();
  if (!clear && effect.seeds < kFewSeeds) return {"too few seeds", "", Tone::muted};
  return claim_verdict(verdict);
}

/// Whether the highest learning rate of the sweep is worse than the best one, for this method.
bool degrades(const PinnGroups& groups, const std::string& method) {
  const SeedGroup *best = best_of(groups.sweep(method), kFinalError), *highest = nullptr;
  for (const SeedGroup* group : groups.sweep(method))
    if (!group->runs.empty() && (highest == nullptr || setting_of(*group, "lr") > setting_of(*highest, "lr")))
      highest = group;
  return best != highest && spread_of(highest, "final_rel_l2").median > spread_of(best, "final_rel_l2").high;
}

class Claims {
 public:
  explicit Claims(const PinnComparisons& comparisons) : comparisons_(comparisons) {}

  using Judge = Verdict (*)(const PairedEffect&);
  void add(const std::string& claim, const char* where, const char* quantity, Judge judge) {
    const PinnComparison* found = comparisons_.find(where, quantity);
    if (found == nullptr) return;
    table.rows.push_back(
        {{claim}, {found->quantity + ": " + measured(*found)}, verdict_cell(judge(found->effect), found->effect)});
  }

  Table table{
      "The paper's claims", {{"claim", false}, {"these runs, TrasMuon against Muon", false}, {"verdict", false}}, {}};

 private:
  const PinnComparisons& comparisons_;
};

Verdict similar(const PairedEffect& effect) {
  const PairedEffect* effects[] = {&effect};
  return judge_similar(effects);
}

std::string sentence(const std::string& head, std::initializer_list<const PinnComparison*> parts) {
  std::string text;
  for (const PinnComparison* part : parts) {
    if (part == nullptr) continue;
    text += fmt::format("{}{} {}", text.empty() ? head + ": " : "; ", part->quantity, measured(*part));
  }
  return text.empty() ? text : text + ".";
}

/// Whether the answer to the events differs from the difference that is there anyway.
std::string events_sentence(const PinnComparisons& comparisons, const char* baseline, const std::string& owner) {
  const PinnComparison *with = comparisons.find(kTable, "final error", baseline),
                       *without = comparisons.find(kCalm, "final error", baseline),
                       *shift = comparisons.find(kShift, "final error", baseline);
  if (with == nullptr || without == nullptr || shift == nullptr) return {};
  const PairedEffect& effect = shift->effect;
  const std::string known = conclusion(effect);
  const std::string verdict = known == "lower"         ? "the events are in its favour"
                              : known == "higher"      ? "the events are to its disadvantage"
                              : known == "about equal" ? "the events make no difference to the comparison"
                              : known == "undecided"   ? "whether the events matter for the comparison is undecided"
                                                       : known + " whether the events matter for the comparison";
  return fmt::format(
      "TrasMuon's final error over {}: × {} with events, × {} without. The quotient of the two is {}: {}.", owner,
      human_factor(with->effect.ratio), human_factor(without->effect.ratio), effect.text(), verdict);
}

/// Where AdamW's learning rate comes from.
std::string search_sentence(const PinnGroups& groups) {
  const std::vector<const SeedGroup*> search = find_groups(groups.runs(), "adamw-search", "adamw");
  const SeedGroup *best = best_of(search, kFinalError), *used = groups.table("adamw");
  if (best == nullptr || used == nullptr || used->runs.empty()) return {};
  std::vector<std::string> tried;
  std::size_t seeds = best->runs.size();
  for (const SeedGroup* group : search) {
    tried.push_back(plain(setting_of(*group, "lr")));
    seeds = std::min(seeds, group->runs.size());
  }
  const double rate = setting_of(*used, "lr"), found = setting_of(*best, "lr");
  return fmt::format(
      "AdamW's learning rate was searched among {} on {} seed{} that the table does not have: best {}, "
      "median final error {}; the table has {}{}.",
      fmt::join(tried, ", "), seeds, seeds == 1 ? "" : "s", plain(found), human(spread_of(best, "final_rel_l2").median),
      plain(rate), rate == found ? "" : ", which is not the best");
}

/// How often there is a spike without an event.
std::string background_sentence(const PinnGroups& groups) {
  std::string text;
  for (const std::string& method : groups.methods("no-events")) {
    const Spread with = spread_of(groups.table(method), "spikes"),
                 without = spread_of(groups.at("no-events", method), "spikes");
    if (with.count == 0 || without.count == 0) continue;
    text += fmt::format("{}{} {} against {}", text.empty() ? "" : ", ", method_label(method), human(with.median),
                        human(without.median));
  }
  return text.empty() ? text
                      : "Spikes with events against those at the same steps without: " + text +
                            " (medians). What is there without events is no answer to them.";
}

}  // namespace

Table pinn_claims(const PinnGroups& groups, const PinnComparisons& comparisons) {
  Claims claims(comparisons);
  claims.add("Nearly identical before the events", kTable, "error before the events", similar);
  claims.add("Less extreme fluctuation under events: peaks", kTable, "highest peak", judge_lower);
  claims.add("Less extreme fluctuation under events: spikes", kTable, "spikes", judge_lower);
  claims.add("Less extreme fluctuation under events: volatility", kTable, "volatility of the loss", judge_lower);
  claims.add("Comparable or lower training loss under events", kTable, "median loss under events", judge_no_worse);
  claims.add("Final error no worse", kTable, "final error", judge_no_worse);
  claims.add("Final error improved", kTable, "final error", judge_lower);
  Table table = std::move(claims.table);
  const Spread ours = spread_of(groups.table("trasmuon"), "step_size"),
               muon = spread_of(groups.table("muon"), "step_size");
  if (ours.count > 0 && muon.count > 0)
    table.rows.push_back({{"Comparable step sizes before the events"},
                          {fmt::format("mean s: {} against {}; criterion: within {}", human(ours.median),
                                       human(muon.median), human_percent(kStepSizeTolerance))},
                          claim_verdict(yes_or_no(similar_sizes(ours.median, muon.median)))});
  Claims tuned(comparisons);
  tuned.add("Comparable under a shared learning-rate sweep", kTuned, "final error", similar);
  table.rows.insert(table.rows.end(), tuned.table.rows.begin(), tuned.table.rows.end());
  if (best_of(groups.sweep("muon"), kFinalError) != nullptr &&
      best_of(groups.sweep("trasmuon"), kFinalError) != nullptr)
    table.rows.push_back(
        {{"Both degrade beyond the stable region"},
         {fmt::format("the highest learning rate is worse than the best: Muon {}, TrasMuon {}",
                      degrades(groups, "muon") ? "yes" : "no", degrades(groups, "trasmuon") ? "yes" : "no")},
         claim_verdict(yes_or_no(degrades(groups, "muon") && degrades(groups, "trasmuon")))});
  return table;
}

std::vector<std::string> pinn_findings(const PinnGroups& groups, const PinnComparisons& comparisons) {
  const auto find = [&](const char* where, const char* quantity, const char* baseline) {
    return comparisons.find(where, quantity, baseline);
  };
  std::vector<std::string> findings = {
      events_sentence(comparisons, "muon", "Muon's"),
      events_sentence(comparisons, "noclip", "noclip's"),
      sentence("With step sizes matched, TrasMuon against Muon",
               {find(kMatched, "final error", "muon"), find(kMatched, "highest peak", "muon"),
                find(kMatched, "spikes", "muon")}),
      sentence("Damping alone, TrasMuon against noclip at the same learning rate",
               {find(kTable, "final error", "noclip"), find(kTable, "highest peak", "noclip")}),
      sentence("Damping alone with step sizes matched",
               {find(kMatched, "final error", "noclip"), find(kMatched, "highest peak", "noclip")}),
      sentence("Each seed at the learning rate that is best for the other seeds, TrasMuon against Muon",
               {find(kTuned, "final error", "muon")}),
      sentence("With Nesterov's momentum, TrasMuon against Muon",
               {find(kNesterov, "final error", "muon"), find(kNesterov, "highest peak", "muon")}),
      background_sentence(groups),
      search_sentence(groups)};
  std::erase_if(findings, [](const std::string& text) { return text.empty(); });
  return findings;
}

}  // namespace trasmuon::lab
