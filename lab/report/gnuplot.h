// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "lab/report/figure.h"

namespace trasmuon::lab {

/// Draws figures into a folder: NAME.dat and NAME.gp, from which anybody can redraw, and NAME.svg.
class Gnuplot {
 public:
  explicit Gnuplot(std::filesystem::path folder);

  /// The text of the SVG file, ready to stand in an HTML page; empty if gnuplot is missing or failed.
  std::string draw(const Figure& figure);

  /// Why figures are missing, as a sentence; empty if none is.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path folder_;
  std::string problem_;
};

std::string gnuplot_script(const Figure& figure);
std::string gnuplot_data(const Figure& figure);

/// For a page with several: no XML prologue, no name spaces, no tool tips, every id with this prefix.
std::string svg_for_html(const std::string& svg, const std::string& prefix);

}  // namespace trasmuon::lab
