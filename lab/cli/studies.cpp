// SPDX-License-Identifier: Apache-2.0
#include "lab/language/study.h"
#include "lab/mechanistic/study.h"
#include "lab/pinn/study.h"
#include "lab/study/registry.h"
#include "lab/vision/study.h"

namespace trasmuon::lab {

// One line per study; nothing else in the program names them.
const std::vector<const Study*>& known_studies() {
  static const std::vector<const Study*> all = {
      &mechanistic_study(),
      &pinn_study(),
      &language_study(),
      &vision_study(),
  };
  return all;
}

}  // namespace trasmuon::lab
