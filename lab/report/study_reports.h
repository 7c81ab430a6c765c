// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/records/run_set.h"
#include "lab/report/document.h"
#include "lab/report/figure.h"
#include "lab/report/gnuplot.h"

namespace trasmuon::lab {

// Each adds the body of its study's report, what it can of it: cells without runs are left out or shown as dashes.
void report_mechanistic(const RunSet& runs, Document& document, Gnuplot& gnuplot);
void report_pinn(const RunSet& runs, Document& document, Gnuplot& gnuplot);
/// For a study this program knows nothing about: medians of everything.
void report_any(const RunSet& runs, Document& document);

struct Illustration {
  Figure figure;
  std::string caption;
};

/// Draws and adds it, unless there is nothing in it.
void illustrate(const Illustration& illustration, Document& document, Gnuplot& gnuplot);

}  // namespace trasmuon::lab
