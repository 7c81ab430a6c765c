// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/recipe.h"

#include <trasmuon/error.h>

#include <algorithm>
#include <map>
#include <set>

#include "lab/records/files.h"
#include "lab/runner/recipe_text.h"

namespace trasmuon::lab {
namespace {

/// One method at one point of a part's grid: everything but the seed.
class GridPoint {
 public:
  GridPoint(const Recipe& recipe, const Recipe::Part& part, const Recipe::Method& method)
      : recipe_(recipe), part_(part), method_(method), settings_(setting_names(*recipe.study)) {
    for (const TomlEntry& entry : recipe.settings) put(entry, entry.value);
    for (const TomlEntry& entry : method.entries) put(entry, entry.value);
  }

  void put(const TomlEntry& entry, const Json& value) {
    where_[entry.key] = entry.where;
    if (std::find(settings_.begin(), settings_.end(), entry.key) != settings_.end()) given_[entry.key] = value;
    else fields_[entry.key] = to_text(value);
  }

  RunSpec spec() const {
    const std::string study(recipe_.study->name());
    RunSpec spec{.study = study, .method = method_.name, .options = method_.rule, .settings = {}, .seed = 0};
    checked(study, [&] { spec.settings = recipe_.study->complete(given_); });
    checked(rule_name(method_.rule), [&] { set_fields(spec.options, fields_); });
    return spec;
  }

 private:
  /// Errors read "owner: key must be ..."; the key tells which line of the recipe is to blame.
  template <class Action>
  void checked(const std::string& owner, Action action) const {
    try {
      action();
    } catch (const Error& error) {
      const std::string text = error.what();
      for (const auto& [key, where] : where_) {
        if (text.starts_with(owner + ": " + key + " ")) throw Error(where + " " + text);
      }
      throw Error(part_.where + " method " + method_.name + ": " + text);
    }
  }

  const Recipe& recipe_;
  const Recipe::Part& part_;
  const Recipe::Method& method_;
  std::vector<std::string> settings_;
  Json given_ = Json::object();
  std::map<std::string, std::string> fields_, where_;
};

/// The choices of values for the part's keys, one per combination, the last key fastest.
std::vector<std::vector<Json>> combinations(const Recipe::Part& part) {
  std::vector<std::vector<Json>> all = {{}};
  for (const TomlEntry& entry : part.entries) {
    std::vector<std::vector<Json>> longer;
    for (const std::vector<Json>& chosen : all) {
      for (const Json& value : entry.value.is_array() ? entry.value : Json::array({entry.value})) {
        longer.push_back(chosen);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// The values of the part's lists, with the types of settings and options: 100 and 1e2 are the same point.
Json axes_of(const Recipe::Part& part, const RunSpec& spec) {
  Json axes = Json::object();
  const Json all = to_json(spec);
  for (const TomlEntry& entry : part.entries) {
    if (!entry.value.is_array()) continue;
    const Json& owner = all.at(spec.settings.contains(entry.key) ? "settings" : "options");
    axes[entry.key] = owner.at(entry.key);
  }
  return axes;
}

void add_part(Plan& plan, const Recipe& recipe, const Recipe::Part& part) {
  std::set<std::string> points;
  for (const std::vector<Json>& chosen : combinations(part)) {
    for (const Recipe::Method* method : part.methods) {
      GridPoint point(recipe, part, *method);
      for (std::size_t i = 0; i < chosen.size(); ++i) point.put(part.entries[i], chosen[i]);
      PlannedRun run{.part = part.name, .axes = {}, .spec = point.spec()};
      run.axes = axes_of(part, run.spec);
      if (!points.insert(method->name + run.axes.dump()).second) {
        throw Error(part.where + " a list has the same value twice: " + run.axes.dump());
      }
      for (const std::uint64_t seed : part.seeds) {
        run.spec.seed = seed;
        plan.runs.push_back(run);
      }
    }
  }
}

}  // namespace

Plan read_recipe(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  const Recipe recipe = parse_recipe(read_text(file), file.filename().string(), overrides);
  Plan plan{.name = file.stem().string(),
            .title = recipe.title.empty() ? file.stem().string() : recipe.title,
            .study = std::string(recipe.study->name()),
            .parts = {},
            .methods = {},
            .runs = {}};
  for (const Recipe::Method& method : recipe.methods) plan.methods.push_back(method.name);
  for (const Recipe::Part& part : recipe.parts) {
    plan.parts.push_back(part.name);
    add_part(plan, recipe, part);
  }
  return plan;
}

}  // namespace trasmuon::lab
