// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/groups.h"

namespace trasmuon::lab {

std::vector<std::string> VisionGroups::methods(const std::string& part) const {
  std::vector<std::string> found;
  for (const std::string& method : runs_.methods)
    if (at(part, method) != nullptr) found.push_back(method);
  return found;
}

Json VisionGroups::setting(const std::string& key) const {
  for (const SeedGroup* group : runs_.of_part("shared"))
    if (!group->runs.empty()) return setting_of(*group, key);
  return {};
}

bool VisionGroups::bursts() const {
  const Json period = setting("burst_period");
  return period.is_number() && period.get<double>() > 0;
}

PaperTable VisionGroups::paper_table() const {
  return setting("data") == "imagenet100" ? PaperTable::imagenet100 : PaperTable::cifar100_bursts;
}

}  // namespace trasmuon::lab
