// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/recipe.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "lab/recipe/parser.h"
#include "lab/records/files.h"
#include "lab/records/memory.h"

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
    RunSpec spec{.study = std::string(recipe_.study->name()),
                 .method = method_.name,
                 .options = method_.rule,
                 .settings = {},
                 .seed = 0};
    checked([&] {
      spec.settings = recipe_.study->complete(given_);
      set_fields(spec.options, fields_);
      recipe_.study->check(spec);
      check_memory(spec);
    });
    return spec;
  }

 private:
  void check_memory(const RunSpec& spec) const {
    const double needed = recipe_.study->memory(spec.settings), usable = usable_memory();
    if (needed <= usable) return;
    throw Error(fmt::format("memory of a run must be <= {}, all that this machine has, got about {}",
                            bytes_text(usable), bytes_text(needed)));
  }

  /// Errors read "owner: key must be ..."; the key tells which line of the recipe caused it.
  template <class Action>
  void checked(Action action) const {
    try {
      action();
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::string_view rule = std::string_view(text).substr(text.find(": ") + 1);
      for (const auto& [key, where] : where_) {
        if (rule.starts_with(" " + key + " ")) throw Error(where + " " + text);
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

/// Refuses a plan that would not fit into memory, before it is made.
void check_size(const Recipe& recipe, const std::string& name) {
  constexpr double kBytesPerRun = 4096;  // while it is planned and run; measured with 200,000 runs
  double runs = 0;
  std::string sizes;
  for (const Recipe::Part& part : recipe.parts) {
    double size = static_cast<double>(part.methods.size()) * static_cast<double>(part.seeds.size());
    for (const TomlEntry& entry : part.entries) {
      if (entry.value.is_array()) size *= static_cast<double>(entry.value.size());
    }
    runs += size;
    sizes += fmt::format("{}[part.{}] {:.15g}", sizes.empty() ? "" : ", ", part.name, size);
  }
  const double most = std::floor(usable_memory() / 2 / kBytesPerRun);
  if (runs <= most) return;
  throw Error(
      fmt::format("{}: the number of runs must be <= {:.15g}, whose plan fills half of this machine's memory, "
                  "got {:.15g} (about {}): {}",
                  name, most, runs, bytes_text(runs * kBytesPerRun), sizes));
}

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

Plan read_recipe(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                 const Selection& selection) {
  Recipe recipe = parse_recipe(read_text(file), file.filename().string(), overrides);
  select(recipe, selection);
  check_size(recipe, file.filename().string());
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
