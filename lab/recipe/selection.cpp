// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/selection.h"

#include <trasmuon/error.h>

#include <algorithm>

#include "lab/study/names.h"

namespace trasmuon::lab {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class List>
void check_names(const std::vector<std::string>& asked, const List& list, const std::string& kind) {
  std::vector<std::string> known;
  for (const auto& item : list) known.push_back(item.name);
  for (const std::string& name : asked) {
    if (!contains(known, name))
      throw Error("--" + kind + " " + name + ": there is no [" + kind + "." + name + "]" + suggestion(name, known));
  }
}

}  // namespace

void select(Recipe& recipe, const Selection& selection) {
  check_names(selection.parts, recipe.parts, "part");
  check_names(selection.methods, recipe.methods, "method");
  if (!selection.parts.empty())
    std::erase_if(recipe.parts, [&](const Recipe::Part& part) { return !contains(selection.parts, part.name); });
  if (selection.methods.empty()) return;
  for (Recipe::Part& part : recipe.parts)
    std::erase_if(part.methods, [&](const Recipe::Method* m) { return !contains(selection.methods, m->name); });
  std::erase_if(recipe.parts, [](const Recipe::Part& part) { return part.methods.empty(); });
  if (recipe.parts.empty()) throw Error("--part, --method: no part asked for has such a method: nothing to run");
}

}  // namespace trasmuon::lab
