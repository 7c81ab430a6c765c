// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

#include "lab/config/run_spec.h"

namespace trasmuon::lab {

/// One run, in this process, with its records in an existing empty folder: manifest.json before, the study's tables
/// during, summary.json at the very end.
void execute(const RunSpec& spec, const std::filesystem::path& folder, std::function<void(double)> progress = {});

/// Whether the folder holds a run that came to its end.
bool is_finished(const std::filesystem::path& folder);

}  // namespace trasmuon::lab
