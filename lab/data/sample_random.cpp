// SPDX-License-Identifier: Apache-2.0
#include "lab/data/sample_random.h"

#include <cmath>
#include <numbers>

namespace trasmuon::lab {

double SampleRandom::normal() {  // Box-Muller, one of the pair
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace trasmuon::lab
