// SPDX-License-Identifier: Apache-2.0
#include "lab/report/report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "lab/mechanistic/report/report.h"
#include "lab/mechanistic/synthetic_mechanistic.h"
#include "lab/pinn/report/report.h"
#include "lab/pinn/synthetic_pinn.h"
#include "lab/report/summary_tables.h"

namespace trasmuon::lab {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Every tag closed in order, attributes quoted, no bare & or <.
void expect_well_formed(const std::string& html) {
  static const std::set<std::string> kVoid = {"meta", "!DOCTYPE"};
  std::vector<std::string> open;
  const std::regex tag(
      "<(/?)([A-Za-z!][A-Za-z0-9:]*)((?:\\s+[-A-Za-z0-9:]+(?:\\s*=\\s*(?:\"[^\"<]*\"|'[^'<]*'))?)*)\\s*(/?)>");
  std::size_t position = html.find("</style>") + 8;
  for (std::sregex_iterator it(html.begin() + static_cast<std::ptrdiff_t>(position), html.end(), tag), end; it != end;
       ++it) {
    const std::string name = (*it)[2];
    const std::string between = it->prefix().str();
    ASSERT_FALSE(has(between, "<")) << between.substr(0, 200);
    ASSERT_FALSE(std::regex_search(between, std::regex("&(?!(amp|lt|gt|quot|#39);)"))) << between.substr(0, 200);
    if (kVoid.contains(name) || (*it)[4].length() > 0) continue;
    if ((*it)[1].length() == 0) {
      open.push_back(name);
      continue;
    }
    if (open.empty() && (name == "head" || name == "html")) continue;  // opened before the style
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name) << it->prefix().str().substr(0, 200);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back();
}

void expect_self_contained(const std::string& html) {
  for (const char* reference : {"http:", "https:", "src=", "@import", "<script", "<link", "url(h"})
    EXPECT_FALSE(has(html, reference)) << reference;
}

void expect_unique_ids(const std::string& html) {
  std::set<std::string> ids;
  const std::regex id("\\sid=['\"]([^'\"]*)['\"]");
  for (std::sregex_iterator it(html.begin(), html.end(), id), end; it != end; ++it)
    EXPECT_TRUE(ids.insert((*it)[1]).second) << (*it)[1];
}

/// Every row of a table has the columns of its head.
void expect_tables(const std::string& markdown) {
  std::istringstream lines(markdown);
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("|", 0) != 0) {
      columns = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (columns == 0) columns = bars;
    EXPECT_EQ(bars, columns) << line;
  }
}

struct Written {
  std::string html, markdown;
};

ReportBody body_of(const RunSet& runs) {
  if (runs.study == "mechanistic") return report_mechanistic;
  if (runs.study == "pinn") return report_pinn;
  return [](const RunSet& set, Document& document, Gnuplot&) { add_summary_tables(set, document); };
}

void write_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  if (runs.study == "pinn") write_pinn_tables(runs, folder);
  else write_mechanistic_tables(runs, folder);
}

Written write(const RunSet& runs, const test::TemporaryDirectory& folder) {
  write_report(runs, body_of(runs), folder.path());
  Written written{test::read_file(folder / "report.html"), test::read_file(folder / "report.md")};
  expect_well_formed(written.html);
  expect_self_contained(written.html);
  expect_unique_ids(written.html);
  expect_tables(written.markdown);
  return written;
}

TEST(Report, OfTheMechanisticStudy) {
  RunSet runs = mechanistic_runs({.seeds = 4});
  const test::TemporaryDirectory tables, folder;
  write_tables(runs, tables);
  const Written report = write(runs, folder);
  for (const char* part : {"Bursts &amp; columns &lt;test&gt;", "A &quot;CPU&quot;", "The paper&#39;s claims",
                           "inside the paper&#39;s IQR", "found by a search with the paper&#39;s tables in view",
                           "trasmuon run mechanistic --set steps=60"})
    EXPECT_TRUE(has(report.html, part)) << part;
  EXPECT_FALSE(has(report.html, "Unfinished"));
  EXPECT_TRUE(
      has(report.markdown, "| clip-sf | true | 30 (24, 36) | 30.5 (30, 31) | inside the paper's IQR | noclip: × 0.63"))
      << report.markdown;
  for (const char* shown : {"**Part damping: ", "damping = permuted", "burst\\_phase = 5", "**Part tuning: "})
    EXPECT_TRUE(has(report.markdown, shown)) << shown;
}

TEST(Report, OfThePinnStudy) {
  RunSet runs = pinn_runs({.seeds = 4});
  const test::TemporaryDirectory tables, folder;
  write_tables(runs, tables);
  const Written report = write(runs, folder);
  EXPECT_TRUE(has(report.markdown, "Final error no worse"));
  EXPECT_TRUE(has(report.markdown, "| Muon | 2.0e-3 (2.0e-3, 2.0e-3) | 8.12 (8.06, 8.18) |")) << report.markdown;
}

TEST(Report, NamesRevisionsMachinesAndTheSeedsThatWereRun) {
  RunSet runs = mechanistic_runs({.seeds = 4});
  for (SeedGroup& group : runs.groups) group.planned = 24;
  runs.groups[0].runs[0].revision = "";
  const test::TemporaryDirectory folder;
  const std::string report = write(runs, folder).markdown;
  EXPECT_TRUE(has(report, " runs by abc123 on cores 2, cpu A \"CPU\"")) << report.substr(0, 900);
  EXPECT_TRUE(has(report, "1 run by unknown revision on cores 2")) << report.substr(0, 900);
  EXPECT_TRUE(has(report, "4 seeds each")) << report.substr(0, 900);
  EXPECT_FALSE(has(report, "24 seeds")) << report.substr(0, 900);
}

TEST(Report, HasFiguresAndWhatMadeThem) {
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no gnuplot here";
  for (RunSet runs : {mechanistic_runs({.seeds = 3}), pinn_runs({.seeds = 3})}) {
    const test::TemporaryDirectory tables, folder;
    write_tables(runs, tables);
    const Written report = write(runs, folder);
    const bool pinn = runs.study == "pinn";
    const std::vector<std::string> names =
        pinn ? std::vector<std::string>{"curves", "spread", "regions", "step_size", "learning_rate"}
             : std::vector<std::string>{"spread",      "around_a_burst",   "closed_loop",  "response_by_phase",
                                        "loss_curves", "controls-clip-sf", "learning_rate"};
    for (const std::string& name : names) {
      EXPECT_TRUE(has(report.html, "<figure id=\"figure-" + name + "\">")) << name;
      EXPECT_TRUE(has(report.markdown, "(figures/" + name + ".svg)")) << name;
      for (const char* ending : {".svg", ".gp", ".dat"})
        EXPECT_TRUE(std::filesystem::exists(folder / ("figures/" + name + ending))) << name << ending;
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "figures/gnuplot.log"));
  }
}

TEST(Report, WithoutGnuplotSaysSo) {
  RunSet runs = mechanistic_runs({.seeds = 2});
  const test::TemporaryDirectory tables, folder;
  write_tables(runs, tables);
  const std::string path = std::getenv("PATH");
  setenv("PATH", "", 1);
  const Written report = write(runs, folder);
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(has(report.markdown, "> **gnuplot was not found, so this report has no figures. Install gnuplot"));
  EXPECT_FALSE(has(report.markdown, ".svg"));
  EXPECT_TRUE(has(report.markdown, "| clip-sf | true |"));
  EXPECT_TRUE(std::filesystem::exists(folder / "figures/spread.gp"));
}

TEST(Report, NamesDamagedRecords) {
  RunSet runs = mechanistic_runs({.seeds = 4});
  runs.damaged = {"x/summary.json: has no numbers"};
  const test::TemporaryDirectory folder;
  const Written report = write(runs, folder);
  EXPECT_TRUE(has(report.markdown,
                  "> **Left out because their records are damaged: 1 run. The command at the end of "
                  "the report repeats them.**\n\n- x/summary.json: has no numbers\n"))
      << report.markdown.substr(0, 500);
}

TEST(Report, UnfinishedIsSaidFirst) {
  RunSet runs = mechanistic_runs({.seeds = 4});
  for (SeedGroup& group : runs.groups) group.runs.pop_back();
  const test::TemporaryDirectory folder;
  const Written report = write(runs, folder);
  const std::string count = std::to_string(runs.finished()) + " of " + std::to_string(runs.planned());
  EXPECT_LT(report.markdown.find("> **Unfinished: " + count), report.markdown.find("##"))
      << report.markdown.substr(0, 500);
}

TEST(Report, OfNoRunsAtAllIsWritten) {
  for (RunSet runs : {mechanistic_runs({.seeds = 2}), pinn_runs({.seeds = 2})}) {
    for (SeedGroup& group : runs.groups) group.runs.clear();
    const test::TemporaryDirectory folder;
    EXPECT_TRUE(has(write(runs, folder).markdown, "Unfinished: 0 of"));
    runs.groups.clear();
    const test::TemporaryDirectory other;
    write(runs, other);
  }
}

TEST(Report, OfFewSeedsSaysSo) {
  const test::TemporaryDirectory few, enough;
  EXPECT_TRUE(has(write(mechanistic_runs({.seeds = 5}), few).markdown,
                  "> **5 seeds: too few for a sign test to reach p = 0.05."));
  EXPECT_FALSE(has(write(mechanistic_runs({.seeds = 6}), enough).markdown, "too few for a sign test"));
}

TEST(Report, ShowsPartsItDoesNotKnow) {
  for (RunSet runs : {mechanistic_runs({.seeds = 2}), pinn_runs({.seeds = 2})}) {
    runs.parts.push_back("idea");
    runs.groups.push_back(SeedGroup(runs.groups.front()));
    runs.groups.back().part = "idea";
    const test::TemporaryDirectory folder;
    EXPECT_TRUE(has(write(runs, folder).markdown, "**Part idea**")) << runs.study;
  }
}

TEST(Report, OfOneSeedHasNoRanges) {
  const test::TemporaryDirectory folder;
  const Written report = write(mechanistic_runs({.seeds = 1}), folder);
  EXPECT_TRUE(has(report.markdown, "| clip-sf | true | 30 (24, 36) | 30 | inside")) << report.markdown;
}

TEST(Report, OfDivergedRunsShowsInfinity) {
  for (RunSet runs : {mechanistic_runs({.seeds = 3}), pinn_runs({.seeds = 3})}) {
    for (SeedGroup& group : runs.groups)
      for (RunRecord& run : group.runs)
        for (const char* key : {"final_loss", "final_median", "final_rel_l2", "spike_peak"}) run.summary[key] = nullptr;
    const test::TemporaryDirectory folder;
    const Written report = write(runs, folder);
    EXPECT_TRUE(has(report.markdown, "∞ (∞, ∞)"));
    EXPECT_FALSE(has(report.markdown, "nan"));
    EXPECT_FALSE(has(report.markdown, "inf "));
  }
}

TEST(Report, OfAnotherStudyHasTheMedians) {
  RunSet runs{.name = "other",
              .title = "",
              .study = "other",
              .command = "",
              .parts = {"one"},
              .methods = {"muon"},
              .groups = {}};
  runs.groups.push_back(make_group("one", "muon", {{"width", 8}}, {}, 3, [](std::uint64_t seed) {
    return Json{{"score", seed}, {"note", "text"}};
  }));
  const test::TemporaryDirectory folder;
  const Written report = write(runs, folder);
  EXPECT_TRUE(has(report.markdown, "# other\n"));
  EXPECT_TRUE(
      has(report.markdown,
          "| method | settings | seeds | score |\n|---|---|---:|---:|\n| Muon | width = 8 | 3 | 1 (0.5, 1.5) |"))
      << report.markdown;
}

}  // namespace
}  // namespace trasmuon::lab
