// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "lab/records/run_log.h"
#include "lab/records/run_set.h"
#include "support/temporary_directory.h"

// Made-up results, to test reports without running anything.
namespace trasmuon::lab {

using SummaryOfSeed = std::function<Json(std::uint64_t seed)>;

double jitter(std::uint64_t seed);  ///< 1 + seed / 100: seeds differ a little

/// Returns a group with one finished run per seed; `settings` must include the axes.
SeedGroup make_group(const std::string& part, const std::string& method, const Json& axes, const Json& settings,
                     std::size_t seeds, const SummaryOfSeed& summary);

/// Gives every run of the set a folder of its own and calls `write` to fill it.
void write_tables(RunSet& runs, const test::TemporaryDirectory& folder,
                  const std::function<void(const RunSpec& spec, RunLog& log)>& write);

}  // namespace trasmuon::lab
