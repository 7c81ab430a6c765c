// SPDX-License-Identifier: Apache-2.0
#include "lab/training/schedule.h"

#include <algorithm>
#include <cmath>

namespace trasmuon::lab {

double Schedule::factor(int step) const {
  const double rising = std::round(warmup * steps), falling = std::round(decay * steps);
  double factor = 1;
  if (rising > 0) factor = std::min(factor, (step + 1) / rising);
  if (falling > 0) factor = std::min(factor, (steps - step) / (falling + 1));
  return factor;
}

}  // namespace trasmuon::lab
