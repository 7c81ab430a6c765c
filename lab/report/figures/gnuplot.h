// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "lab/report/figures/figure.h"

namespace trasmuon::lab {

/// Draws figures into a folder: NAME.svg, and NAME.dat and NAME.gp to draw it again.
class Gnuplot {
 public:
  explicit Gnuplot(std::filesystem::path folder);

  /// Returns the SVG text for an HTML page; empty if gnuplot is missing or failed.
  std::string draw(const Figure& figure);

  /// Why figures are missing, as a sentence; empty if none is.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path folder_;
  std::string problem_;
};

std::string gnuplot_script(const Figure& figure);
std::string gnuplot_data(const Figure& figure);

/// Prepares an SVG for a page with several: removes XML prologue, namespaces and tooltips, adds the prefix to every id.
std::string svg_for_html(const std::string& svg, const std::string& prefix);

}  // namespace trasmuon::lab
