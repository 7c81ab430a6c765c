// SPDX-License-Identifier: Apache-2.0
#include "lab/studies/study.h"

#include <trasmuon/error.h>

#include <string>

#include "lab/config/names.h"

namespace trasmuon::lab {

const Study& find_study(std::string_view name) {
  std::vector<std::string> known;
  for (const Study* study : studies()) {
    if (study->name() == name) return *study;
    known.emplace_back(study->name());
  }
  if (name == "pinn")
    throw Error("study 'pinn' needs LibTorch, and this program was built without it; see `trasmuon doctor`");
  throw Error("there is no study '" + std::string(name) + "'" + suggestion(name, known));
}

}  // namespace trasmuon::lab
