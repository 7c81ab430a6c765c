// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report.h"

#include <fmt/format.h>

#include <set>

#include "lab/pinn/figures.h"
#include "lab/pinn/findings.h"
#include "lab/pinn/groups.h"
#include "lab/report/format.h"
#include "lab/report/illustration.h"
#include "lab/report/verdict.h"

namespace trasmuon::lab {

namespace {

const std::set<std::string> kOwnPlace = {"table", "no-events", "lr-sweep", "matched-rms"};  // parts shown elsewhere

void add_part(const PinnGroups& groups, const std::string& part, const std::string& caption, Document& document) {
  struct Metric {
    const char *key, *title;
  };
  Table table{caption, {{"method", false}}, {}};
  const std::vector<Metric> metrics = {{"spikes", "spikes"},
                                       {"spike_peak", "spike peak"},
                                       {"recovery_steps", "recovery, steps"},
                                       {"valid_event_rate", "valid events"},
                                       {"rel_l2_before_events", "error before events"},
                                       {"final_rel_l2", "final error"}};
  for (const Metric& metric : metrics) table.columns.push_back({metric.title});
  for (const char* title : {"step size", "lr", "ms per step", "seeds"}) table.columns.push_back({title});
  for (const std::string& method : groups.methods(part)) {
    const SeedGroup* group = groups.at(part, method);
    std::vector<TableCell> row = {{method_label(method)}};
    for (const Metric& metric : metrics) row.push_back(number_cell(spread_of(group, metric.key)));
    for (const char* key : {"step_size", "lr", "ms_per_step"}) row.push_back({human(spread_of(group, key).median)});
    row.push_back({std::to_string(group->runs.size())});
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

void add_effects(const PinnGroups& groups, Document& document) {
  Table table{"How many times lower TrasMuon's final error is, seed by seed",
              {{"against", false}, {"with events"}, {"without"}, {"with over without"}},
              {}};
  for (const std::string& method : groups.methods("no-events")) {
    const EventEffect effect = event_effect(groups, method);
    if (method == "trasmuon" || !effect.known()) continue;
    TableCell ratio = number_cell(effect.ratio);
    ratio.detail += (ratio.detail.empty() ? "" : ", ") + human_p(effect.pairing.p);
    table.rows.push_back({{method_label(method)}, number_cell(effect.with_events), number_cell(effect.without), ratio});
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

}  // namespace

void report_pinn(const RunSet& runs, Document& document, Gnuplot& gnuplot) {
  const PinnGroups groups(runs);
  document.add(Heading{2, "In short"});
  Table claims = pinn_claims(groups);
  if (!claims.rows.empty()) document.add(std::move(claims));
  document.add(Bullets{pinn_findings(groups)});
  document.add(Paragraph{
      "The paper prints curves and box plots but no numbers for this study, so its claims are judged. " +
      std::string(kDirectionRule) +
      " No worse: not higher in 3/4 of the seeds. Identical or comparable: the interquartile ranges overlap."});

  document.add(Heading{2, "Results"});
  document.add(
      Paragraph{"A network learns u in Δu + κ²u = f on the unit square from the residual at random points. From the "
                "first event on, every few steps most interior points come from one small region. Median and quartiles "
                "over the seeds; a diverged run counts as ∞."});
  add_part(groups, "table", "With events", document);
  illustrate(pinn_curves(groups), document, gnuplot);
  illustrate(pinn_spread(groups), document, gnuplot);
  illustrate(pinn_regions(groups), document, gnuplot);

  document.add(Heading{2, "Controls"});
  add_part(groups, "no-events", "Without events", document);
  add_effects(groups, document);
  add_part(groups, "matched-rms", "With events, learning rates fitted to one step size", document);
  for (const std::string& part : runs.parts)
    if (!kOwnPlace.contains(part)) add_part(groups, part, "Part " + part, document);
  illustrate(pinn_step_sizes(groups), document, gnuplot);
  illustrate(pinn_sweep(groups), document, gnuplot);

  document.add(Heading{2, "What this cannot show"});
  document.add(Bullets{
      {"The paper leaves learning rates, which layers the matrix rule trains, initialization, precision, the damping's "
       "settings and the definitions of spike, peak, recovery and valid event open; the recipe's choices are ours.",
       "The loss at an event is taken at other points than before and after it, so a jump there is no instability by "
       "itself."}});
}

}  // namespace trasmuon::lab
