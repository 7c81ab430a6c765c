// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/records/run_set.h"
#include "lab/report/document.h"
#include "lab/report/figures/gnuplot.h"

namespace trasmuon::lab {

void report_language(const RunSet& runs, Document& document, Gnuplot& gnuplot);

}  // namespace trasmuon::lab
