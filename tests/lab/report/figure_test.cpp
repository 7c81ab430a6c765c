// SPDX-License-Identifier: Apache-2.0
#include "lab/report/figures/figure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "lab/report/figures/gnuplot.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

Figure sample() {
  Panel lines{.title = "it's <a> title", .x_label = "step", .y_label = "loss", .log_y = true};
  lines.lines = {{.label = "A & B",
                  .style = method_style("muon"),
                  .x = {0, 1, 2},
                  .y = {1, 10, 100},
                  .low = {1, 5, 50},
                  .high = {2, 20, 200}}};
  lines.markers = {1};
  Panel boxes{.title = "boxes", .x_label = "", .y_label = "spikes"};
  boxes.boxes = {{"muon", method_style("muon"), {1, 2, 3}}, {"normuon", method_style("normuon"), {2, INFINITY, NAN}}};
  boxes.band = HorizontalBand{1, 2, 3};
  return {.name = "sample", .panels = {lines, boxes}, .columns = 2};
}

TEST(Style, TellsTheMethodsApart) {
  std::set<std::string> colors;
  for (const char* method : {"noclip", "clip-sf", "clip-only", "normuon", "muon", "hard-clip", "history", "adamw"})
    EXPECT_TRUE(colors.insert(method_style(method).color).second) << method;
  EXPECT_EQ(method_style("something new").color, method_style("something new").color);
}

TEST(GnuplotData, WritesGapsForWhatIsNotFinite) {
  const std::string data = gnuplot_data(sample());
  EXPECT_NE(data.find("1 10 5 20\n"), std::string::npos);
  EXPECT_NE(data.find(" NaN\n"), std::string::npos);
  EXPECT_EQ(data.find("inf"), std::string::npos);
}

TEST(GnuplotScript, QuotesTextsAndNamesDiverged) {
  const std::string script = gnuplot_script(sample());
  EXPECT_NE(script.find("set title 'it''s <a> title'"), std::string::npos);
  EXPECT_NE(script.find("'normuon (1 diverged)'"), std::string::npos) << script;
  EXPECT_NE(script.find("set logscale y"), std::string::npos);
}

TEST(GnuplotScript, KeepsTextsOnOneLine) {
  Figure figure = sample();
  figure.panels[0].title = "two\nlines";
  figure.panels[0].lines[0].label = "a\nb";
  figure.panels[1].boxes[0].label = "c\nd";
  EXPECT_NE(gnuplot_script(figure).find("set title 'two lines'"), std::string::npos);
  const std::string data = gnuplot_data(figure);
  EXPECT_NE(data.find("# two lines: step, loss, low, high (a b)\n"), std::string::npos) << data;
  EXPECT_EQ(data.find("\nd"), std::string::npos) << data;
}

TEST(Gnuplot, DrawsForAPage) {
  const test::TemporaryDirectory folder;
  Gnuplot gnuplot(folder.path());
  const std::string svg = gnuplot.draw(sample());
  if (!gnuplot.problem().empty()) GTEST_SKIP() << gnuplot.problem();
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("A &amp; B"), std::string::npos);
  EXPECT_EQ(svg.find("http"), std::string::npos);
  EXPECT_EQ(svg.find("<title>"), std::string::npos);
  EXPECT_NE(svg.find("id=\"sample-"), std::string::npos);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"sample.dat", "sample.gp", "sample.svg"}));
}

TEST(Gnuplot, DrawsEmptyPanels) {
  const test::TemporaryDirectory folder;
  Gnuplot gnuplot(folder.path());
  Panel nothing{.title = "nothing", .x_label = "", .y_label = "", .log_x = true, .log_y = true};
  nothing.lines.resize(2);
  nothing.lines[0].x = {1, 2};
  nothing.lines[0].y = {INFINITY, NAN};
  gnuplot.draw({.name = "empty", .panels = {nothing}});
  EXPECT_EQ(gnuplot.problem().find("failed"), std::string::npos) << test::read_file(folder / "gnuplot.log");
}

TEST(Gnuplot, SaysWhenItFails) {
  const test::TemporaryDirectory folder;
  Gnuplot gnuplot(folder.path());
  Figure broken = sample();
  broken.panels[0].lines[0].style.color = "' nonsense";
  EXPECT_EQ(gnuplot.draw(broken), "");
  EXPECT_NE(gnuplot.problem(), "");
  EXPECT_FALSE(std::filesystem::exists(folder / "sample.svg"));
}

TEST(SvgForHtml, PrefixesEveryIdAndItsUses) {
  EXPECT_EQ(
      svg_for_html(
          "<?xml?><svg xmlns=\"http://a\" xmlns:xlink=\"http://b\"><title>x</title><g id='p'/><use xlink:href='#p' "
          "fill='#ffffff' clip-path='url(#p)'/></svg>",
          "f"),
      "<svg><g id='f-p'/><use href='#f-p' fill='#ffffff' clip-path='url(#f-p)'/></svg>");
}

}  // namespace
}  // namespace trasmuon::lab
