// SPDX-License-Identifier: Apache-2.0
#include "lab/report/figures/axis_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/report/figures/gnuplot.h"

namespace trasmuon::lab {
namespace {

Panel panel_of(const std::vector<std::vector<double>>& boxes, bool log) {
  Panel panel{.title = "", .x_label = "", .y_label = "", .log_y = log};
  for (const auto& values : boxes) panel.boxes.push_back({"box", method_style("muon"), values});
  return panel;
}

TEST(AxisRange, LeavesOutABoxThatWouldFlattenTheOthers) {
  const Panel panel = panel_of({{1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 6}, {1e6, 2e6, 3e6}}, true);
  EXPECT_TRUE(is_outlier(panel, panel.boxes.back()));
  EXPECT_FALSE(is_outlier(panel, panel.boxes.front()));
  EXPECT_EQ(y_range(panel).low, 1);
  EXPECT_EQ(y_range(panel).high, 6);
  const Figure figure{.name = "f", .panels = {panel}};
  EXPECT_NE(gnuplot_script(figure).find("'box (2.0e6)' 5"), std::string::npos) << gnuplot_script(figure);
}

TEST(AxisRange, LeavesOutASingleValue) {
  const Panel panel = panel_of({{1, 2, 2, 3, 1000}, {2, 3, 3, 4, 5}}, false);
  EXPECT_EQ(y_range(panel).high, 5);
  EXPECT_FALSE(is_outlier(panel, panel.boxes.front()));
}

TEST(AxisRange, KeepsWhatIsMerelyDifferent) {
  EXPECT_EQ(y_range(panel_of({{0, 0, 0}, {0, 0, 1}, {3, 4, 5}, {48, 50, 55}, {70, 80, 90}}, false)).high, 90);
  EXPECT_EQ(y_range(panel_of({{5, 5, 5}, {5, 5, 5}}, false)).high, 5);
  EXPECT_EQ(y_range(panel_of({{1}, {1e9}}, true)).high, 1e9);  // of two, neither is the outlier
  EXPECT_TRUE(y_range(panel_of({{NAN, INFINITY}}, true)).empty());
}

TEST(AxisRange, ShowsAllOfALineAndTheNearOfItsBand) {
  Panel panel{.title = "", .x_label = "", .y_label = "", .log_y = true};
  panel.lines = {
      {.label = "", .style = method_style("muon"), .x = {0, 1}, .y = {10, 1000}, .low = {1, 1e-9}, .high = {20, 2000}}};
  EXPECT_EQ(y_range(panel).low, 1);
  EXPECT_EQ(y_range(panel).high, 2000);
  EXPECT_EQ(x_range(panel).high, 1);
}

}  // namespace
}  // namespace trasmuon::lab
