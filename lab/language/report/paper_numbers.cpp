// SPDX-License-Identifier: Apache-2.0
#include "lab/language/report/paper_numbers.h"

namespace trasmuon::lab {

std::optional<double> paper_steps(std::string_view method, bool warmup) {
  if (method == "trasmuon") return warmup ? 80 : 48;
  if (method == "muon") return warmup ? 140 : 83;
  if (method == "adamw") return warmup ? 188 : 298;
  return std::nullopt;
}

}  // namespace trasmuon::lab
