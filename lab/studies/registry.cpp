// SPDX-License-Identifier: Apache-2.0
#include "lab/studies/registry.h"

namespace trasmuon::lab {

const std::vector<const Study*>& studies() {
  static const std::vector<const Study*> all = [] {
    std::vector<const Study*> built;
    for (const Study* study : {mechanistic_study(), pinn_study()}) {
      if (study != nullptr) built.push_back(study);
    }
    return built;
  }();
  return all;
}

}  // namespace trasmuon::lab
