// SPDX-License-Identifier: Apache-2.0
#include "lab/report/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "lab/report/format.h"

namespace trasmuon::lab {

namespace {

bool is_error(const std::string& key) {
  static const std::set<std::string> kErrors = {"final_loss",   "best_loss",   "spike_peak",
                                                "final_rel_l2", "best_rel_l2", "loss_volatility_after"};
  return kErrors.contains(key);
}

double value_of(const RunRecord& run, const std::string& key) {
  const auto is_null = [&](const std::string& name) {
    return run.summary.contains(name) && run.summary[name].is_null();
  };
  const bool diverged = is_null("final_loss") || is_null("final_rel_l2");
  return diverged && is_error(key) && is_null(key) ? std::numeric_limits<double>::infinity() : run.value(key);
}

bool matches(const Cell& cell, const Json& settings) {
  for (const auto& [key, wanted] : settings.items()) {
    const Json value = setting_of(cell, key);
    if (!value.is_null() && value != wanted) return false;
  }
  return true;
}

}  // namespace

Json setting_of(const Cell& cell, const std::string& key) {
  if (cell.axes.contains(key)) return cell.axes.at(key);
  if (cell.runs.empty()) return nullptr;
  const RunSpec& spec = cell.runs.front().spec;
  if (spec.settings.contains(key)) return spec.settings.at(key);
  return to_json(spec).at("options").value(key, Json());
}

std::vector<const Cell*> find_cells(const RunSet& runs, const std::string& part, const std::string& method,
                                    const Json& settings) {
  std::vector<const Cell*> found;
  for (const Cell& cell : runs.cells) {
    const bool named = (part.empty() || cell.part == part) && (method.empty() || cell.method == method);
    if (named && matches(cell, settings)) found.push_back(&cell);
  }
  return found;
}

const Cell* find_cell(const RunSet& runs, const std::string& part, const std::string& method, const Json& settings) {
  const auto found = find_cells(runs, part, method, settings);
  return found.empty() ? nullptr : found.front();
}

BySeed by_seed(const Cell* cell, const std::string& key) {
  BySeed values;
  if (cell == nullptr) return values;
  for (const RunRecord& run : cell->runs) values[run.spec.seed] = value_of(run, key);
  return values;
}

std::vector<double> values_of(const Cell* cell, const std::string& key) { return values_of(by_seed(cell, key)); }

Spread spread_of(const Cell* cell, const std::string& key) { return spread_of(values_of(cell, key)); }

Comparison compare(const Cell* method, const Cell* baseline, const std::string& key) {
  const BySeed ours = by_seed(method, key), theirs = by_seed(baseline, key);
  return {spread_of(values_of(ours)), spread_of(values_of(theirs)), compare(ours, theirs),
          spread_of(values_of(ratios(theirs, ours)))};
}

std::string Comparison::side() const {
  if (pairing.lower + pairing.higher == 0) return "equal";
  return pairing.higher > pairing.lower ? "higher" : "lower";
}

std::size_t Comparison::agreeing() const {
  return pairing.lower + pairing.higher == 0 ? pairing.equal : std::max(pairing.lower, pairing.higher);
}

std::string Comparison::seeds() const { return fmt::format("{} in {}/{}", side(), agreeing(), pairing.count()); }

std::string Comparison::text() const {
  return fmt::format("{} against {}, {} in {} ({})", human(method.median), human(baseline.median), side(),
                     of_seeds(agreeing(), pairing.count()), human_p(pairing.p));
}

Progress progress_of(const RunSet& runs) {
  Progress progress;
  for (const Cell& cell : runs.cells) {
    progress.finished += cell.runs.size();
    progress.planned += cell.planned;
  }
  return progress;
}

}  // namespace trasmuon::lab
