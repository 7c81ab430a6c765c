// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

#include "lab/records/run_spec.h"

namespace trasmuon::lab {

/// Does one run in this process, with its records in an existing empty folder: manifest.json before, the study's tables
/// during, summary.json at the very end.
void execute(const RunSpec& spec, const std::filesystem::path& folder, std::function<void(double)> progress = {});

}  // namespace trasmuon::lab
