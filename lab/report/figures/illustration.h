// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/report/document.h"
#include "lab/report/figures/figure.h"
#include "lab/report/figures/gnuplot.h"

namespace trasmuon::lab {

struct Illustration {
  Figure figure;
  std::string caption;
};

/// Draws the figure and adds it to the document, unless it has no data.
void illustrate(const Illustration& illustration, Document& document, Gnuplot& gnuplot);

}  // namespace trasmuon::lab
