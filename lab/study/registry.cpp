// SPDX-License-Identifier: Apache-2.0
#include "lab/study/registry.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <string>

#include "lab/study/names.h"

namespace trasmuon::lab {

std::vector<const Study*> studies() {
  std::vector<const Study*> can_run = known_studies();
  std::erase_if(can_run, [](const Study* study) { return !study->missing().empty(); });
  return can_run;
}

const Study* find_known_study(std::string_view name) {
  const auto& all = known_studies();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Study* study) { return study->name() == name; });
  return found == all.end() ? nullptr : *found;
}

const Study& find_study(std::string_view name) {
  const Study* study = find_known_study(name);
  if (study == nullptr) {
    std::vector<std::string> names;
    for (const Study* known : known_studies()) names.emplace_back(known->name());
    throw Error(fmt::format("there is no study '{}'{}", name, suggestion(name, names)));
  }
  if (!study->missing().empty()) {
    throw Error(fmt::format("study '{}' needs {}, and this program was built without it; see `trasmuon doctor`", name,
                            study->missing()));
  }
  return *study;
}

}  // namespace trasmuon::lab
