// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/groups.h"

#include <limits>

namespace trasmuon::lab {

std::vector<std::string> PinnGroups::methods(const std::string& part) const {
  std::vector<std::string> found;
  for (const std::string& method : runs_.methods)
    if (at(part, method) != nullptr) found.push_back(method);
  return found;
}

double PinnGroups::first_event() const {
  for (const SeedGroup* group : runs_.of_part("table")) {
    const Json step = setting_of(*group, "first_event");
    if (step.is_number()) return step;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace trasmuon::lab
