// SPDX-License-Identifier: Apache-2.0
#include "lab/report/statistics/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lab/report/format.h"

namespace trasmuon::lab {

namespace {

bool starts_with_final(const std::string& key) { return key.starts_with("final_"); }

/// Whether the number measures a loss or an error, which is infinite when a run diverges.
bool is_error(const std::string& key) {
  return starts_with_final(key) || key.starts_with("best_") || key == "spike_peak" || key == "loss_volatility_after";
}

/// A run diverged if one of its final_... numbers is null.
bool diverged(const Json& summary) {
  for (const auto& [key, value] : summary.items()) {
    if (starts_with_final(key) && value.is_null()) return true;
  }
  return false;
}

double value_of(const RunRecord& run, const std::string& key) {
  const bool is_null = run.summary.contains(key) && run.summary[key].is_null();
  return is_null && is_error(key) && diverged(run.summary) ? std::numeric_limits<double>::infinity() : run.value(key);
}

bool matches(const SeedGroup& group, const Json& settings) {
  for (const auto& [key, wanted] : settings.items()) {
    const Json value = setting_of(group, key);
    if (!value.is_null() && value != wanted) return false;
  }
  return true;
}

}  // namespace

Json setting_of(const SeedGroup& group, const std::string& key) {
  if (group.axes.contains(key)) return group.axes.at(key);
  if (group.runs.empty()) return nullptr;
  const RunSpec& spec = group.runs.front().spec;
  if (spec.settings.contains(key)) return spec.settings.at(key);
  return to_json(spec).at("options").value(key, Json());
}

std::vector<const SeedGroup*> find_groups(const RunSet& runs, const std::string& part, const std::string& method,
                                          const Json& settings) {
  std::vector<const SeedGroup*> found;
  for (const SeedGroup& group : runs.groups) {
    const bool named = (part.empty() || group.part == part) && (method.empty() || group.method == method);
    if (named && matches(group, settings)) found.push_back(&group);
  }
  return found;
}

const SeedGroup* find_group(const RunSet& runs, const std::string& part, const std::string& method,
                            const Json& settings) {
  const auto found = find_groups(runs, part, method, settings);
  return found.empty() ? nullptr : found.front();
}

BySeed by_seed(const SeedGroup* group, const std::string& key) {
  BySeed values;
  if (group == nullptr) return values;
  for (const RunRecord& run : group->runs) values[run.spec.seed] = value_of(run, key);
  return values;
}

std::vector<double> values_of(const SeedGroup* group, const std::string& key) { return values_of(by_seed(group, key)); }

Spread spread_of(const SeedGroup* group, const std::string& key) { return spread_of(values_of(group, key)); }

Comparison compare(const SeedGroup* method, const SeedGroup* baseline, const std::string& key) {
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

}  // namespace trasmuon::lab
