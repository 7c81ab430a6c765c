// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/report.h"

#include <gtest/gtest.h>

#include "lab/vision/synthetic_vision.h"

namespace trasmuon::lab {
namespace {

/// The report in Markdown, of runs with tables.
std::string report_of(RunSet runs) {
  const test::TemporaryDirectory folder;
  write_vision_tables(runs, folder);
  Gnuplot gnuplot(folder / "figures");
  Document document{"Vision", {}};
  report_vision(runs, document, gnuplot);
  return to_markdown(document);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(VisionReport, PutsAccuraciesBesideThePapers) {
  const std::string report = report_of(vision_runs({.seeds = 1}));
  EXPECT_TRUE(has(report, "| Muon | 56.00 % | 65.00 % | 57.48 ± 0.52 % |")) << report;
  EXPECT_TRUE(has(report, "| noclip | 57.00 % | 65.00 % | – |")) << report;
  EXPECT_TRUE(has(report, "| TrasMuon with damping of other columns | 60.00 % | – | – |")) << report;
  EXPECT_TRUE(has(report, "paper, CIFAR-100 with bursts")) << report;
}

TEST(VisionReport, SaysWhatWasRun) {
  EXPECT_TRUE(has(report_of(vision_runs()),
                  "vit-cifar learns cifar100 from random weights: 40 steps of 128 images. "
                  "Every 10 steps from step 20 on, 2 columns"));
  const std::string calm = report_of(vision_runs({.burst_period = 0, .data = "imagenet100"}));
  EXPECT_TRUE(has(calm, "paper, ImageNet-100")) << calm;
  EXPECT_FALSE(has(calm, "columns of the gradient")) << calm;
}

TEST(VisionReport, ShowsEveryPart) {
  const std::string report = report_of(vision_runs());
  for (const char* part : {"Part shared", "Part no-bursts", "Part controls", "Part sweep"})
    EXPECT_TRUE(has(report, part)) << part;
}

TEST(VisionReport, UnfinishedRunsAreNoError) {
  RunSet runs = vision_runs();
  for (SeedGroup& group : runs.groups) group.runs.clear();
  EXPECT_TRUE(has(report_of(runs), "What this cannot show"));
}

}  // namespace
}  // namespace trasmuon::lab
