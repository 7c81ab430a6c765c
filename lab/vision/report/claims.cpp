// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "lab/report/figures/figure.h"
#include "lab/report/format.h"
#include "lab/report/statistics/sweep.h"

namespace trasmuon::lab {
namespace {

std::string measured(const VisionComparison& c) {
  return fmt::format("against {}: error {}, {} of {} seeds lower", side_label(c.baseline), c.effect.text(),
                     c.effect.pairing.lower, c.effect.seeds);
}

/// Few seeds cannot deny a claim, only leave it open.
TableCell verdict_cell(Verdict verdict, std::span<const PairedEffect* const> effects) {
  const bool open = std::all_of(effects.begin(), effects.end(), [](const PairedEffect* effect) {
    return effect->seeds < kFewSeeds && !effect->clearly_lower() && !effect->clearly_higher();
  });
  if (open && verdict != Verdict::indicated) return {"too few seeds", "", Tone::muted};
  return claim_verdict(verdict);
}

class Claims {
 public:
  explicit Claims(const VisionComparisons& comparisons) : comparisons_(comparisons) {}

  struct Pair {
    const char *method, *baseline;
  };
  /// The claim that the method's error is lower in all these pairs.
  void add_lower(const std::string& claim, const char* where, std::initializer_list<Pair> pairs) {
    std::vector<const PairedEffect*> effects;
    std::string text;
    for (const Pair& pair : pairs) {
      const VisionComparison* found = comparisons_.find(where, pair.method, pair.baseline);
      if (found == nullptr) continue;
      effects.push_back(&found->effect);
      text += fmt::format("{}{}{}", text.empty() ? "" : "; ",
                          std::string_view(pair.method) == "trasmuon" ? "" : method_label(pair.method) + " ",
                          measured(*found));
    }
    if (effects.empty()) return;
    table.rows.push_back({{claim}, {text}, verdict_cell(judge_lower_than_all(effects), effects)});
  }

  Table table{"The paper's claims and their controls",
              {{"claim or control", false}, {"these runs, test error of TrasMuon", false}, {"verdict", false}},
              {}};

 private:
  const VisionComparisons& comparisons_;
};

/// Standard deviation of the test errors in percent; NaN with fewer than two, infinite where runs diverged.
double deviation_of(const SeedGroup* group) { return 100 * mean_deviation(values_of(group, kValError)).deviation; }

/// At most indicated: so few seeds tell standard deviations apart only if they differ by a factor of two or three.
void add_spread(const VisionGroups& groups, Table& table) {
  const double ours = deviation_of(groups.at("shared", "trasmuon"));
  std::string text;
  bool smallest = true;
  for (const char* baseline : {"normuon", "muon", "adamw"}) {
    const double theirs = deviation_of(groups.at("shared", baseline));
    if (std::isnan(theirs)) continue;
    smallest = smallest && ours < theirs;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", method_label(baseline), human(theirs));
  }
  if (text.empty() || std::isnan(ours)) return;
  const std::size_t seeds = groups.at("shared", "trasmuon")->runs.size();
  table.rows.push_back(
      {{"TrasMuon varies least over the seeds"},
       {fmt::format("standard deviations in points of accuracy: TrasMuon {}, {}; {} seeds", human(ours), text, seeds)},
       seeds < kFewSeeds ? TableCell{"too few seeds", "", Tone::muted}
                         : claim_verdict(smallest ? Verdict::indicated : Verdict::not_reproduced)});
}

/// How often the trigger fires without bursts, when the start is over.
std::string natural_sentence(const VisionGroups& groups) {
  const SeedGroup* calm = groups.calm("trasmuon");
  const Spread fired = spread_of(calm, "triggered_settled"), damped = spread_of(calm, "damped_settled"),
               ratio = spread_of(calm, "r_max_settled");
  if (fired.count == 0) return {};
  return fmt::format(
      "Without bursts, after step 100: the largest energy ratio of a step has the median {}, {} of the matrices have "
      "one above the trigger, and {} of the columns are damped.",
      human(ratio.median), human_percent(fired.median), human_percent(damped.median));
}

/// Whether the gate tells the columns that a burst hit from the others.
std::string response_sentence(const VisionGroups& groups) {
  const SeedGroup* group = groups.at("shared", "trasmuon");
  if (group == nullptr || !groups.bursts()) return {};
  std::vector<double> hit, all;
  for (const RunRecord& run : group->runs) {
    if (!std::filesystem::exists(run.folder / "bursts.csv")) continue;
    const Columns bursts = run.table("bursts");
    hit.push_back(quantile(bursts["c_hit"], 0.5));
    all.push_back(quantile(bursts["c_mean"], 0.5));
  }
  if (spread_of(hit).count == 0) return {};
  return fmt::format(
      "In the step of a burst the columns that it hits keep {} of their update, and all columns {} on average "
      "(TrasMuon's damping c, medians over bursts and seeds).",
      human_percent(spread_of(hit).median), human_percent(spread_of(all).median));
}

/// Whether no group of the sweep with runs has a lower rate, or none a higher one.
bool at_edge(const SeedGroup& group, const std::vector<const SeedGroup*>& sweep) {
  const double rate = spread_of(&group, "lr").median;
  bool lower = false, higher = false;
  for (const SeedGroup* other : sweep) {
    lower = lower || spread_of(other, "lr").median < rate;
    higher = higher || spread_of(other, "lr").median > rate;
  }
  return !lower || !higher;
}

std::string best_rates_sentence(const VisionGroups& groups) {
  std::string text;
  for (const std::string& method : groups.methods("sweep")) {
    const SeedGroup* best = best_of(groups.sweep(method), kValError);
    if (best == nullptr) continue;
    text += fmt::format("{}{} {} ({}{})", text.empty() ? "" : ", ", method_label(method),
                        plain(spread_of(best, "lr").median), accuracy_text(values_of(best, kValError)),
                        at_edge(*best, groups.sweep(method)) ? "; the sweep ends there" : "");
  }
  return text.empty() ? text : "Best learning rate of the sweep: " + text + ".";
}

}  // namespace

std::string accuracy_text(const std::vector<double>& errors) {
  std::vector<double> finite;
  for (const double error : errors)
    if (std::isfinite(error)) finite.push_back(100 * (1 - error));
  if (errors.empty()) return "–";
  const std::size_t diverged = errors.size() - finite.size();
  const MeanDeviation accuracy = mean_deviation(finite);
  std::string text = finite.empty()       ? "–"
                     : finite.size() == 1 ? fmt::format("{:.2f} %", accuracy.mean)
                                          : fmt::format("{:.2f} ± {:.2f} %", accuracy.mean, accuracy.deviation);
  if (diverged > 0) text += fmt::format(", {} of {} diverged", diverged, errors.size());
  return text;
}

std::string side_label(const std::string& method) {
  if (method == "permuted") return "TrasMuon with damping of other columns";
  if (method == "mean") return "TrasMuon with the mean damping in all columns";
  return method_label(method);
}

Table vision_claims(const VisionGroups& groups, const VisionComparisons& comparisons) {
  Claims claims(comparisons);
  claims.add_lower(groups.bursts() ? "TrasMuon is most accurate under bursts" : "TrasMuon is most accurate",
                   kSharedRuns, {{"trasmuon", "normuon"}, {"trasmuon", "muon"}, {"trasmuon", "adamw"}});
  claims.add_lower("The Muon family is more accurate than AdamW", kSharedRuns,
                   {{"trasmuon", "adamw"}, {"normuon", "adamw"}, {"muon", "adamw"}});
  add_spread(groups, claims.table);
  claims.add_lower("Control: the damping helps", kSharedRuns, {{"trasmuon", "noclip"}});
  claims.add_lower("Control: it must hit the right columns", kSharedRuns,
                   {{"trasmuon", "permuted"}, {"trasmuon", "mean"}});
  claims.add_lower("Control: the advantage is there because of the bursts (ratio with bursts over ratio without)",
                   kBurstShift, {{"trasmuon", "normuon"}, {"trasmuon", "muon"}, {"trasmuon", "noclip"}});
  claims.add_lower("Control: most accurate with each method at its own best learning rate", kTunedRuns,
                   {{"trasmuon", "normuon"}, {"trasmuon", "muon"}, {"trasmuon", "adamw"}});
  claims.add_lower("Control: most accurate with updates of the same RMS", kMatchedRuns,
                   {{"trasmuon", "normuon"}, {"trasmuon", "muon"}, {"trasmuon", "adamw"}});
  return std::move(claims.table);
}

std::vector<std::string> vision_findings(const VisionGroups& groups) {
  std::vector<std::string> findings{best_rates_sentence(groups), response_sentence(groups), natural_sentence(groups)};
  std::erase_if(findings, [](const std::string& text) { return text.empty(); });
  return findings;
}

}  // namespace trasmuon::lab
