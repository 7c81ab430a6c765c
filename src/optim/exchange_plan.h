// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optim/parameter_table.h"
#include "stages/cut_step.h"
#include "trasmuon/sharded_step.h"

namespace trasmuon {

/// Everything about a sharded step that does not change from step to step. The same on all ranks, up to what is packed.
struct ExchangePlan {
  std::vector<CutMatrix> matrices;
  std::vector<std::size_t> groups;  ///< of each matrix
  ExchangeSizes sizes;
  Ownership ownership;
  Device device;  ///< of all cut matrices
};

/// Throws Error if the options contradict themselves or the parameters.
void check_sharding(ParameterTable& table, const ShardedStepOptions& options);

/// Points a matrix at its group's plan of this step.
void set_plan(const Plan& plan, CutMatrix& matrix);

/// Finds owners and lays out the buffers. With one rank nothing is cut. `plans`: one per group.
ExchangePlan plan_exchange(ParameterTable& table, const ShardedStepOptions& options, std::span<const Plan> plans);

}  // namespace trasmuon
