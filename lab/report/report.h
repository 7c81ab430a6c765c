// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lab/records/run_set.h"

namespace trasmuon::lab {

/// Writes report.html (self-contained), report.md and figures/*.svg into the folder.
void write_report(const RunSet& runs, const std::filesystem::path& folder);

}  // namespace trasmuon::lab
