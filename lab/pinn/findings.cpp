// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/report/figure.h"
#include "lab/report/format.h"
#include "lab/report/verdict.h"

namespace trasmuon::lab {

namespace {

constexpr double kStepSizeTolerance = 0.25;  // the paper shows a band but does not give its width

bool similar_sizes(double a, double b) { return std::abs(std::log(a / b)) <= std::log(1 + kStepSizeTolerance); }

/// Whether a higher learning rate than the best one of the sweep is worse, for this method.
bool degrades(const PinnGroups& groups, const std::string& method) {
  const SeedGroup *best = groups.tuned(method), *highest = nullptr;
  const std::string axis = groups.sweep_axis();
  for (const SeedGroup* group : groups.sweep(method))
    if (!group->runs.empty() && (highest == nullptr || setting_of(*group, axis) > setting_of(*highest, axis)))
      highest = group;
  return best != highest && spread_of(highest, "final_rel_l2").median > spread_of(best, "final_rel_l2").high;
}

std::string effect_sentence(const EventEffect& effect, const std::string& baseline) {
  const double with = effect.with_events.median, without = effect.without.median;
  const std::string text =
      fmt::format("TrasMuon's final error is {} than {} with events and {} without (medians of the seeds' ratios)",
                  times_lower(with), baseline, times_lower(without));
  if (effect.pairing.clearly_lower()) return text + ": the events are in its favour.";
  if (effect.pairing.clearly_higher()) return text + ": the events are not in its favour.";
  return text + ": the events make no clear difference between the two.";
}

void add_matched(std::vector<std::string>& findings, const PinnGroups& groups) {
  const SeedGroup *ours = groups.at("matched-rms", "trasmuon"), *muon = groups.at("matched-rms", "muon");
  const Comparison error = compare(ours, muon, "final_rel_l2"), peak = compare(ours, muon, "spike_peak");
  if (!error.known()) return;
  findings.push_back(fmt::format("With step sizes matched, TrasMuon against Muon: final error {}; highest spike {}.",
                                 error.text(), peak.text()));
}

void add_damping(std::vector<std::string>& findings, const PinnGroups& groups) {
  const SeedGroup *ours = groups.table("trasmuon"), *noclip = groups.table("noclip");
  const Comparison error = compare(ours, noclip, "final_rel_l2"), peak = compare(ours, noclip, "spike_peak");
  if (!error.known()) return;
  const bool clear = error.pairing.clearly_lower() || peak.pairing.clearly_lower();
  const bool likely = error.pairing.mostly_lower() || peak.pairing.mostly_lower();
  findings.push_back(
      fmt::format("The effect of damping alone, TrasMuon against noclip: final error {}; highest spike {}. {}",
                  error.text(), peak.text(),
                  clear    ? "The damping helps here."
                  : likely ? "The damping helps in most seeds, but there are too few seeds to be sure."
                           : "The damping brings no clear gain here."));
}

void add_better(std::vector<std::string>& findings, const PinnGroups& groups) {
  std::string better;
  for (const std::string& method : groups.methods("table")) {
    const Comparison error = compare(groups.table(method), groups.table("trasmuon"), "final_rel_l2");
    if (method != "trasmuon" && error.pairing.clearly_lower())
      better += (better.empty() ? "" : ", ") + method_label(method) + " (" + human(error.method.median) + ")";
  }
  if (!better.empty())
    findings.push_back("Methods with a lower final error than TrasMuon (" +
                       human(spread_of(groups.table("trasmuon"), "final_rel_l2").median) + "): " + better + ".");
}

}  // namespace

Table pinn_claims(const PinnGroups& groups) {
  Table table{
      "The paper's claims", {{"claim", false}, {"these runs, TrasMuon against Muon", false}, {"verdict", false}}, {}};
  const auto add = [&](const std::string& claim, const std::string& measured, Verdict verdict) {
    table.rows.push_back({{claim}, {measured}, claim_verdict(verdict)});
  };
  const SeedGroup *ours = groups.table("trasmuon"), *muon = groups.table("muon");
  const Comparison before = compare(ours, muon, "rel_l2_before_events");
  if (before.known())
    add("Nearly identical before the events", "rel. L2 error before the first event: " + before.text(),
        judge(Relation::similar, before));
  const Comparison peak = compare(ours, muon, "spike_peak"), spikes = compare(ours, muon, "spikes");
  const Comparison volatility = compare(ours, muon, "loss_volatility_after");
  if (peak.known()) {
    add("Less extreme fluctuation under events: peaks", "highest spike over its baseline: " + peak.text(),
        judge(Relation::lower, peak));
    add("Less extreme fluctuation under events: spikes", "spikes in a run: " + spikes.text(),
        judge(Relation::lower, spikes));
    if (volatility.known())
      add("Less extreme fluctuation under events: volatility",
          "standard deviation of the log loss from step to step: " + volatility.text(),
          judge(Relation::lower, volatility));
  }
  const BySeed ours_loss = loss_after_events(ours), muon_loss = loss_after_events(muon);
  const Comparison loss{spread_of(values_of(ours_loss)), spread_of(values_of(muon_loss)), compare(ours_loss, muon_loss),
                        spread_of(values_of(ratios(muon_loss, ours_loss)))};
  if (loss.known())
    add("Comparable or lower training loss under events", "median loss of uniform steps: " + loss.text(),
        yes_or_no(!loss.pairing.mostly_higher()));
  const Comparison error = compare(ours, muon, "final_rel_l2");
  if (error.known()) {
    add("Final error no worse", "final rel. L2 error: " + error.text(), yes_or_no(!error.pairing.mostly_higher()));
    add("Final error improved", "as above; criterion: lower", judge(Relation::lower, error));
  }
  const Comparison size = compare(ours, muon, "step_size");
  if (size.known())
    add("Comparable step sizes before the events",
        fmt::format("mean s: {} against {}; criterion: within {}", human(size.method.median),
                    human(size.baseline.median), human_percent(kStepSizeTolerance)),
        yes_or_no(similar_sizes(size.method.median, size.baseline.median)));
  const SeedGroup *best = groups.tuned("trasmuon"), *muon_best = groups.tuned("muon");
  const Comparison tuned = compare(best, muon_best, "final_rel_l2");
  if (tuned.known()) {
    add("Comparable under a shared learning-rate sweep", "each at its best: final error " + tuned.text(),
        judge(Relation::similar, tuned));
    add("Both degrade beyond the stable region",
        fmt::format("the highest learning rate is worse than the best: Muon {}, TrasMuon {}",
                    degrades(groups, "muon") ? "yes" : "no", degrades(groups, "trasmuon") ? "yes" : "no"),
        yes_or_no(degrades(groups, "muon") && degrades(groups, "trasmuon")));
  }
  return table;
}

std::vector<std::string> pinn_findings(const PinnGroups& groups) {
  std::vector<std::string> findings;
  for (const auto& [method, name] : {std::pair{"muon", "Muon's"}, {"noclip", "noclip's"}}) {
    const EventEffect effect = event_effect(groups, method);
    if (effect.known()) findings.push_back(effect_sentence(effect, name));
  }
  add_damping(findings, groups);
  add_matched(findings, groups);
  add_better(findings, groups);
  return findings;
}

}  // namespace trasmuon::lab
