// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

#include "lab/records/run_spec.h"

namespace trasmuon::lab {

/// Does one run in this process, with its records in an existing folder: manifest.json before, the study's tables
/// during, summary.json at the very end. The folder is empty, or the run continues from the checkpoint in it.
void execute(const RunSpec& spec, const std::filesystem::path& folder, std::function<void(double)> progress = {});

}  // namespace trasmuon::lab
