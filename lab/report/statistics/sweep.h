// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/records/run_set.h"
#include "lab/report/statistics/stats.h"

// Groups that differ in one setting, such as the learning rate, and a positive number of which less is better.
namespace trasmuon::lab {

/// The group with the lowest geometric mean of the number, over the seeds that are not `left_out`; null if none has
/// runs.
const SeedGroup* best_of(const std::vector<const SeedGroup*>& groups, const std::string& key,
                         const std::vector<std::uint64_t>& left_out = {});

/// The number of each seed in the group that is best for the other seeds, so that no seed chooses its own setting. Only
/// of seeds that were run in every group; empty if there are fewer than two.
BySeed tuned(const std::vector<const SeedGroup*>& groups, const std::string& key);

}  // namespace trasmuon::lab
