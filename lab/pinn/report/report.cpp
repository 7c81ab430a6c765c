// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/pinn/events.h"
#include "lab/pinn/report/comparisons.h"
#include "lab/pinn/report/event_numbers.h"
#include "lab/pinn/report/figures.h"
#include "lab/pinn/report/findings.h"
#include "lab/pinn/report/groups.h"
#include "lab/report/figures/illustration.h"
#include "lab/report/format.h"
#include "lab/report/part_tables.h"

namespace trasmuon::lab {

namespace {

const std::vector<NumberColumn> kColumns = {{"final_rel_l2", "final error"},
                                            {"spike_peak", "highest peak"},
                                            {"spikes", "spikes"},
                                            {"recovery_steps", "recovery, steps", false},
                                            {"recovered_share", "recovered", false},
                                            {"rel_l2_before_events", "error before events", false},
                                            {"step_size", "step size", false},
                                            {"lr", "lr", false}};
constexpr std::size_t kMainColumns = 2;  // that a sweep shows

const std::map<std::string, std::string> kCaptions = {
    {"table", "with events, plain momentum"},
    {"no-events", "the same without events; the same steps are judged, and there is nothing to recover from"},
    {"matched-rms", "with events, learning rates fitted to one step size, seed by seed"},
    {"lr-sweep", "with events, a shared sweep"},
    {"nesterov", "with events, Nesterov momentum"},
    {"adamw-search", "with events, AdamW's learning rate, on other seeds"}};

void add_comparisons(const PinnComparisons& comparisons, Document& document) {
  Table table{"All comparisons: TrasMuon against a baseline, less is better",
              {{"runs", false},
               {"against", false},
               {"quantity", false},
               {"TrasMuon"},
               {"baseline"},
               {"ratio, seed by seed", false},
               {"lower in"},
               {"so TrasMuon is", false}},
              {}};
  for (const PinnComparison& c : comparisons.all()) {
    const bool shift = c.where == kShift;
    table.rows.push_back({{c.where},
                          {method_label(c.baseline)},
                          {c.quantity},
                          {human(c.ours.median)},
                          {human(c.theirs.median)},
                          {c.effect.text()},
                          {fmt::format("{} of {}", c.effect.pairing.lower, c.effect.seeds)},
                          {shift && c.effect.clearly_lower() ? "better with events" : conclusion(c.effect)}});
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

/// Whether the fits hit.
void add_fits(const PinnGroups& groups, Document& document) {
  Table table{"Learning rates fitted to a step size: what they miss it by",
              {{"method", false}, {"target"}, {"step size"}, {"miss"}, {"largest miss"}, {"lr"}, {"seeds"}},
              {}};
  for (const std::string& part : groups.runs().parts) {
    for (const SeedGroup* group : groups.runs().of_part(part)) {
      const std::vector<double> misses = values_of(group, "fit_miss");
      if (spread_of(misses).count == 0) continue;
      double largest = 0;
      for (const double miss : misses)
        if (std::abs(miss) > std::abs(largest)) largest = miss;
      const auto percent = [](double miss) { return fmt::format("{:+.1f} %", 100 * miss); };
      table.rows.push_back({{method_label(group->method)},
                            {plain(setting_of(*group, "update_rms"))},
                            {human(spread_of(group, "step_size").median)},
                            {percent(spread_of(misses).median)},
                            {percent(largest)},
                            number_cell(spread_of(group, "lr")),
                            {std::to_string(group->runs.size())}});
    }
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

}  // namespace

void report_pinn(const RunSet& runs, Document& document, Gnuplot& gnuplot) {
  const RunSet measured = with_event_numbers(runs);
  const PinnGroups groups(measured);
  const PinnComparisons comparisons(groups);
  document.add(Heading{2, "In short"});
  Table claims = pinn_claims(groups, comparisons);
  if (!claims.rows.empty()) document.add(std::move(claims));
  document.add(Bullets{pinn_findings(groups, comparisons)});
  document.add(Paragraph{
      "The paper prints curves and box plots but no numbers for this study, so its claims are judged. " +
      std::string(kPairedRule) +
      " Indicated: lower in 3/4 of the seeds. Identical, comparable, about equal: the interval lies within a factor of "
      "1.25; no worse: it ends below 1.25. " +
      fmt::format("With fewer than {} seeds no difference is denied.", kFewSeeds)});

  document.add(Heading{2, "Results"});
  document.add(Paragraph{
      "A network learns u in Δu + κ²u = f on the unit square from the residual at random points. From the "
      "first event on, every few steps most interior points come from one small region; every seed has its own "
      "sequence of regions, the same for all methods. The final error is the mean of the last five "
      "evaluations. " +
      spike_rule() +
      " Spikes are counted from the stored peaks when the report is made. Medians and quartiles over the "
      "seeds; a diverged run counts as ∞."});
  illustrate(pinn_curves(groups), document, gnuplot);
  illustrate(pinn_spread(groups), document, gnuplot);
  illustrate(pinn_regions(groups), document, gnuplot);
  illustrate(pinn_step_sizes(groups), document, gnuplot);
  illustrate(pinn_sweep(groups), document, gnuplot);
  add_comparisons(comparisons, document);

  document.add(Heading{2, "Everything that was run"});
  add_part_tables(measured, kColumns, kMainColumns, kCaptions, document);
  add_fits(groups, document);

  document.add(Heading{2, "What this cannot show"});
  document.add(Bullets{
      {"The paper leaves learning rates, which layers the matrix rule trains, initialization, precision, the damping's "
       "settings and the definitions of spike, peak, recovery and valid event open; the recipe's choices are ours.",
       "The loss at an event is taken at other points than before and after it, so a jump there is no instability by "
       "itself.",
       "Seeds vary the start, the points and the sequence of regions together; their parts in the spread are not told "
       "apart."}});
}

}  // namespace trasmuon::lab
