// SPDX-License-Identifier: Apache-2.0
#include "lab/language/report/report.h"

#include <gtest/gtest.h>

#include "lab/language/report/claims.h"
#include "lab/language/report/paper_numbers.h"
#include "lab/language/synthetic_language.h"

namespace trasmuon::lab {
namespace {

std::string report_of(RunSet runs) {
  const test::TemporaryDirectory folder;
  write_language_tables(runs, folder);
  Gnuplot gnuplot(folder / "figures");
  Document document{"Language", {}};
  report_language(runs, document, gnuplot);
  return to_markdown(document);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The verdict on the claim that begins so.
std::string verdict(const LanguageNumbers& numbers, const std::string& claim) {
  const RunSet runs = language_runs(numbers);
  const LanguageGroups groups(runs);
  for (const auto& row : language_claims(groups, LanguageComparisons(groups)).rows)
    if (row.front().text.starts_with(claim)) return row.back().text;
  return "no such claim";
}

TEST(LanguageReport, PutsThePapersStepsBesideOurs) {
  const std::string report = report_of(language_runs());
  EXPECT_TRUE(has(report, "| Muon | 140 (140, 142) | 140 | 84 (84, 85) | 83 |") || has(report, "| Muon | 140"))
      << report;
  EXPECT_TRUE(has(report, "| TrasMuon | 80")) << report;
  EXPECT_EQ(paper_steps("adamw", false), 298);
  EXPECT_EQ(paper_steps("dion", true), std::nullopt);
}

TEST(LanguageReport, FindsTheRunsWithoutWarmUpInAPartOfTheirOwn) {
  RunSet runs = language_runs();
  const std::string in_shared = report_of(runs);
  for (SeedGroup& group : runs.groups)
    if (group.part == "shared" && group.axes.value("warmup_share", 1.0) == 0) group.part = "no-warmup";
  const LanguageGroups groups(runs);
  ASSERT_NE(groups.shared("muon", false), nullptr);
  EXPECT_EQ(groups.shared("muon", false)->part, "no-warmup");
  EXPECT_EQ(groups.shared("muon", true)->part, "shared");
  const auto claims = [](const std::string& report) { return report.substr(report.find("claims"), 800); };
  EXPECT_EQ(claims(report_of(runs)), claims(in_shared));
}

TEST(LanguageReport, JudgesStepsSeedBySeed) {
  const std::string claim = "With warm-up TrasMuon reaches the target loss in fewer steps than Muon";
  EXPECT_EQ(verdict({}, claim), "reproduced");
  EXPECT_EQ(verdict({.trasmuon_steps = 200}, claim), "not reproduced");
  EXPECT_EQ(verdict({.seeds = 1, .trasmuon_steps = 139}, claim), "too few seeds");
}

TEST(LanguageReport, CallsAPerplexityWorseThatIsClearlyHigher) {
  const std::string claim = "It ends lowest or about equal: Muon, with warm-up";
  EXPECT_EQ(verdict({}, claim), "reproduced");
  EXPECT_EQ(verdict({.muon = 3.2, .trasmuon = 3.21}, claim), "not reproduced");
}

TEST(LanguageReport, ARunThatNeverReachesTheTargetCountsAsInfinite) {
  const std::string report = report_of(language_runs({.adamw_reaches = false}));
  EXPECT_TRUE(has(report, "| AdamW | ∞")) << report;
  // Infinity leaves only signs to test: p is at least 2^-9 with ten seeds, times the number of comparisons.
  EXPECT_EQ(verdict({.seeds = 10, .adamw_reaches = false}, "and than AdamW"), "reproduced");
}

TEST(LanguageReport, SaysWhatIsLeftAtTunedRates) {
  const std::string report = report_of(language_runs());
  EXPECT_TRUE(has(report, "at lr 7.2e-3")) << report;
  const RunSet runs = language_runs({.muon_tuned = 2.5});
  const LanguageGroups groups(runs);
  const LanguageComparisons comparisons(groups);
  const LanguageComparison* tuned = comparisons.find(kTuned, kPerplexity, "muon");
  ASSERT_NE(tuned, nullptr);
  EXPECT_TRUE(tuned->effect.clearly_higher());
  EXPECT_TRUE(comparisons.find(kWarm, kPerplexity, "muon")->effect.clearly_lower());
}

TEST(LanguageReport, ComparesTunedRatesWithNesterovInBoth) {
  const auto effect = [](const LanguageNumbers& numbers) {
    const RunSet runs = language_runs(numbers);
    const LanguageGroups groups(runs);
    const LanguageComparisons comparisons(groups);
    return comparisons.find(kNesterovTuned, kPerplexity, "muon")->effect;
  };
  EXPECT_FALSE(effect({}).clearly_lower());
  EXPECT_TRUE(effect({.trasmuon_nesterov = 2.5}).clearly_lower());
}

TEST(LanguageReport, ComparesFourStepsWithFive) {
  const auto words = [](double four) {
    const RunSet runs = language_runs({.four_steps = four});
    const LanguageGroups groups(runs);
    const LanguageComparisons comparisons(groups);
    EXPECT_EQ(comparisons.find(kIteration, kPerplexity, "4 steps of keller"), nullptr) << "not run";
    return conclusion(*comparisons.find(kIteration, kPerplexity, "5 steps of keller"));
  };
  EXPECT_EQ(words(3.1), "about equal");
  EXPECT_EQ(words(3.4), "higher");
}

TEST(LanguageReport, TellsHowOftenTheTriggerFires) {
  EXPECT_TRUE(has(report_of(language_runs()), "the trigger fires in 40 % of the matrices of a step")) << "";
}

TEST(LanguageReport, WorksWithoutRuns) {
  RunSet runs = language_runs();
  for (SeedGroup& group : runs.groups) group.runs.clear();
  EXPECT_TRUE(has(report_of(runs), "No run is finished"));
}

}  // namespace
}  // namespace trasmuon::lab
