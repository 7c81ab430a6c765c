// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trasmuon::lab {

/// How a method looks in every figure. Dash and point help readers who cannot distinguish the colours.
struct Style {
  std::string color = "#000000";
  int dash = 1;   ///< gnuplot's dashtype
  int point = 7;  ///< gnuplot's pointtype
};
Style method_style(const std::string& method);
std::string method_label(const std::string& method);  ///< "NorMuon" for "normuon"

/// A curve. Values that are not finite are gaps.
struct Line {
  std::string label;
  Style style;
  std::vector<double> x, y;
  std::vector<double> low = {}, high = {};  ///< limits of a band around it; empty: no band
  bool points = false;                      ///< mark every value
};

/// One column of a box plot: quartiles, whiskers to the extremes, and every value as a point.
struct Box {
  std::string label;
  Style style;
  std::vector<double> values;
};

struct HorizontalBand {
  double low, middle, high;
};

/// One coordinate system: lines or boxes.
struct Panel {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<Line> lines = {};
  std::vector<Box> boxes = {};
  std::vector<double> markers = {};  ///< vertical lines
  std::optional<HorizontalBand> band = {};
};

struct Figure {
  std::string name;
  std::vector<Panel> panels;
  int columns = 1;
  int panel_height = 280;  ///< pixels, at a width of 960
};

}  // namespace trasmuon::lab
