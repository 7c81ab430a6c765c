// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/report.h"

#include <gtest/gtest.h>

#include "lab/pinn/events.h"
#include "lab/pinn/synthetic_pinn.h"

namespace trasmuon::lab {
namespace {

/// The report in Markdown, of runs with tables.
std::string report_of(RunSet runs) {
  const test::TemporaryDirectory folder;
  write_pinn_tables(runs, folder);
  Gnuplot gnuplot(folder / "figures");
  Document document{"PINN", {}};
  report_pinn(runs, document, gnuplot);
  return to_markdown(document);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(PinnReport, StatesTheRuleItCountsWith) { EXPECT_TRUE(has(report_of(pinn_runs()), spike_rule())); }

TEST(PinnReport, CountsSpikesFromTheStoredPeaksNotTheSummary) {
  const std::string report = report_of(pinn_runs());  // summaries say 10 x peak; every table has one spike
  EXPECT_TRUE(has(report, "| with events | Muon | spikes | 1 | 1 |")) << report;
}

TEST(PinnReport, SaysByHowMuchAFitMisses) {
  const std::string report = report_of(pinn_runs({.step_size = 1.1e-3}));
  EXPECT_TRUE(has(report, "what they miss it by")) << report;
  EXPECT_TRUE(has(report, "| Muon | 1e-3 | 1.1e-3 | +13.9 % | +17.7 % |")) << report;  // seeds differ by 7 %
}

TEST(PinnReport, ShowsEveryPart) {
  const std::string report = report_of(pinn_runs());
  for (const char* part : {"Part table", "Part no-events", "Part lr-sweep", "Part matched-rms", "Part adamw-search"})
    EXPECT_TRUE(has(report, part)) << part;
}

TEST(PinnReport, WithoutEventsThereIsNoRecovery) {
  const std::string report = report_of(pinn_runs());
  const std::size_t table = report.find("Part no-events"), row = report.find("| Muon |", table);
  const std::string cells = report.substr(row, report.find('\n', row) - row);
  EXPECT_TRUE(has(cells, "| – | – |")) << cells;
}

}  // namespace
}  // namespace trasmuon::lab
