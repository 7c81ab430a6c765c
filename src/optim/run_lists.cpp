// SPDX-License-Identifier: Apache-2.0
#include "optim/run_lists.h"

#include "optim/rule.h"
#include "trasmuon/error.h"

namespace trasmuon {

std::vector<Plan> plans_of(ParameterTable& table) {
  std::vector<Plan> plans;
  for (const GroupEntry& group : table.groups()) plans.push_back(plan_of(group.options));
  return plans;
}

std::vector<void*> streams_of(const ParameterTable& table, void* stream) {
  std::vector<void*> streams;
  for (const auto& [device, backend] : table.backends()) {
    if (stream == nullptr || device.type == Device::Type::cpu) continue;
    if (!streams.empty()) throw Error("parameters on several GPUs need a stream for each, got one for all");
    streams.assign(static_cast<std::size_t>(device.index) + 1, stream);
  }
  return streams;
}

void run_lists(ParameterTable& table, ByDevice<std::vector<Matrix>> GroupEntry::*list, BackendAction action,
               std::span<const Plan> plans, std::span<void* const> streams) {
  for (const auto& [device, backend] : table.backends()) {
    const auto index = static_cast<std::size_t>(device.index);
    void* stream = index < streams.size() ? streams[index] : nullptr;
    for (std::size_t g = 0; g < plans.size(); ++g) {
      auto& lists = table.group(g).*list;
      const auto found = lists.find(device);
      if (found != lists.end() && !found->second.empty()) ((*backend).*action)(found->second, plans[g], stream);
    }
  }
}

}  // namespace trasmuon
