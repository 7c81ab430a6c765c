// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <trasmuon/error.h>
#include <trasmuon/options.h>

#include <algorithm>
#include <set>

#include "lab/cli/commands.h"
#include "lab/recipe/files.h"
#include "lab/recipe/recipe.h"
#include "lab/runner/console.h"
#include "lab/study/names.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {
namespace {

const std::vector<std::string> kRules = {"trasmuon", "normuon", "muon", "dion", "adamw"};

void list_studies() {
  for (const Study* study : studies()) print(stdout, "{:<14} {}\n", study->name(), study->description());
}

void list_settings(const std::string& name) {
  const Study& study = find_study(name);
  std::size_t rule_width = 0;
  for (const Field& field : study.settings()) rule_width = std::max(rule_width, field.rule.size());
  for (const Field& field : study.settings()) {
    print(stdout, "{:<18} {:<10} {:<{}}  {}\n", field.name, field.default_value, field.rule, rule_width,
          field.description);
  }
}

void list_recipes() {
  if (recipe_folders().empty()) print(stdout, "no recipe folder found; set TRASMUON_RECIPES to one\n");
  for (const auto& file : known_recipes()) {
    try {
      const Plan plan = read_recipe(file);
      std::set<std::string> runs;
      for (const PlannedRun& run : plan.runs) runs.insert(run_id(run.spec));
      print(stdout, "{:<18} {:>5} runs  {}\n", plan.name, runs.size(), plan.title);
    } catch (const Error& error) {
      print(stdout, "{:<18} {}\n", file.stem().string(), error.what());
    }
  }
}

/// The methods of a recipe with their rules, and its parts.
void list_methods(const std::string& recipe) {
  const Plan plan = read_recipe(find_recipe(recipe));
  for (const std::string& method : plan.methods) {
    const auto run =
        std::find_if(plan.runs.begin(), plan.runs.end(), [&](const PlannedRun& r) { return r.spec.method == method; });
    print(stdout, "method {:<14} {}\n", method, run == plan.runs.end() ? "unused" : rule_name(run->spec.options));
  }
  for (const std::string& part : plan.parts) {
    std::size_t runs = 0;
    std::string axes;
    for (const PlannedRun& run : plan.runs) {
      if (run.part != part) continue;
      ++runs;
      axes.clear();
      for (const auto& [axis, value] : run.axes.items()) axes += (axes.empty() ? " over " : ", ") + axis;
    }
    print(stdout, "part   {:<14} {} runs{}\n", part, runs, axes);
  }
}

void list_rules(const std::string& name) {
  if (name.empty()) print(stdout, "{}\n", joined(kRules, "\n"));
  else print(stdout, "{}", describe(options_for(name)));
}

void list_all() {
  print(stdout, "Studies (trasmuon list settings STUDY)\n");
  list_studies();
  print(stdout, "\nRecipes (trasmuon run RECIPE, trasmuon list methods RECIPE)\n");
  list_recipes();
  print(stdout, "\nRules (trasmuon list rules RULE)\n{}\n", joined(kRules, ", "));
}

}  // namespace

int list_command(const std::string& what, const std::string& name) {
  const auto needs_name = [&](const char* of) {
    if (name.empty()) throw Error(fmt::format("list {} needs the name of a {}", what, of));
  };
  if (what.empty()) {
    list_all();
  } else if (what == "studies") {
    list_studies();
  } else if (what == "settings") {
    needs_name("study");
    list_settings(name);
  } else if (what == "recipes") {
    list_recipes();
  } else if (what == "methods") {
    needs_name("recipe");
    list_methods(name);
  } else if (what == "rules") {
    list_rules(name);
  } else {
    throw Error("cannot list '" + what + "'" +
                suggestion(what, {"studies", "settings", "recipes", "methods", "rules"}));
  }
  return 0;
}

}  // namespace trasmuon::lab
