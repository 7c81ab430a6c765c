// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "optim/parameter_table.h"
#include "stages/backend.h"

namespace trasmuon {

/// Returns the plan of every group.
std::vector<Plan> plans_of(ParameterTable& table);
/// Returns `stream` as the stream of the only GPU.
std::vector<void*> streams_of(const ParameterTable& table, void* stream);

/// Gives the lists of matrices of every device and group to an action of the device's backend. streams[i] is the stream
/// of cuda:i; missing ones are null.
using BackendAction = void (Backend::*)(std::span<Matrix>, const Plan&, void* stream);
void run_lists(ParameterTable& table, ByDevice<std::vector<Matrix>> GroupEntry::*list, BackendAction action,
               std::span<const Plan> plans, std::span<void* const> streams);

}  // namespace trasmuon
