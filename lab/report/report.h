// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

#include "lab/records/run_set.h"
#include "lab/report/document.h"
#include "lab/report/figures/gnuplot.h"

namespace trasmuon::lab {

/// Adds what is special to a study: everything between the header and "How to repeat this".
using ReportBody = std::function<void(const RunSet& runs, Document& document, Gnuplot& gnuplot)>;

/// Writes report.html (self-contained), report.md and figures/*.svg into the folder.
void write_report(const RunSet& runs, const ReportBody& add_body, const std::filesystem::path& folder);

}  // namespace trasmuon::lab
