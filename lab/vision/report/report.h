// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/records/run_set.h"
#include "lab/report/document.h"
#include "lab/report/figures/gnuplot.h"

namespace trasmuon::lab {

/// Adds the body of the vision study's report. Groups without finished runs are left out or shown as dashes.
void report_vision(const RunSet& runs, Document& document, Gnuplot& gnuplot);

}  // namespace trasmuon::lab
