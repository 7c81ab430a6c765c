// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "checkpoint/temporary_directory.h"
#include "lab/studies/registry.h"

namespace trasmuon::lab {
namespace {

class MechanisticStudyTest : public testing::Test {
 protected:
  Json run(const Json& settings, const Options& options = TrasMuonOptions{.warmup = 5}) {
    RunLog log(folder_.path(), [&](double fraction) { progress_ = fraction; });
    const Json complete = study_.complete(settings);
    return study_.run({.study = "mechanistic", .method = "some", .options = options, .settings = complete, .seed = 2},
                      log);
  }

  std::string refusal(const Json& settings) {
    try {
      study_.complete(settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const Study& study_ = *mechanistic_study();
  const test::TemporaryDirectory folder_;
  double progress_ = 0;
};

const Json kSmall = {{"dim", 8}, {"steps", 64}};

TEST_F(MechanisticStudyTest, FillsInDefaults) {
  const Json settings = study_.complete({{"kappa", 1e6}, {"fix_v", false}});
  EXPECT_EQ(settings["kappa"], 1e6);
  EXPECT_EQ(settings["fix_v"], false);
  EXPECT_EQ(settings["steps"], 1005);
  EXPECT_EQ(settings["burst_factor"], 1000);
  EXPECT_EQ(settings.size(), study_.settings().size());
}

TEST_F(MechanisticStudyTest, RefusesBadSettings) {
  EXPECT_EQ(refusal({{"kappa", -3}}), "mechanistic: kappa must be >= 1, got -3");
  EXPECT_EQ(refusal({{"kapa", 3}}), "mechanistic: has no setting 'kapa'; did you mean 'kappa'?");
  EXPECT_EQ(refusal({{"dim", 4}, {"burst_columns", 5}}), "mechanistic: burst_columns must be <= dim = 4, got 5");
  EXPECT_EQ(refusal({{"lr_scale", 0}}), "mechanistic: lr_scale must be > 0, got 0");
}

TEST_F(MechanisticStudyTest, WritesATableAndASummary) {
  const Json summary = run(kSmall);
  for (const char* key : {"spikes", "spike_peak", "final_loss", "best_loss", "mean_c", "min_c", "update_rms", "lr",
                          "bound_violations", "c_violations", "initial_loss", "steps"}) {
    EXPECT_TRUE(summary.contains(key) && summary[key].is_number()) << key;
  }
  EXPECT_EQ(progress_, 1);
  std::istringstream file(test::read_file(folder_ / "metrics.csv"));
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "step,loss,event,r_q95,r_max,c_used_min,c_hit,c_mean,update_rms");
  std::getline(file, line);
  EXPECT_TRUE(line.starts_with("0,") && line.ends_with(",0,,,,,,")) << line;
  int rows = 1;
  while (std::getline(file, line)) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 8) << line;
    EXPECT_LT(line.size(), 100u) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 65);
}

TEST_F(MechanisticStudyTest, WritesNoTableWithoutTrace) {
  Json settings = kSmall;
  settings["trace"] = false;
  run(settings);
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(MechanisticStudyTest, ADivergedRunHasNoFinalLoss) {
  const Json summary = run(kSmall, AdamWOptions{.lr = 1e160, .weight_decay = 0});
  EXPECT_TRUE(Json::parse(summary.dump())["final_loss"].is_null());
  EXPECT_EQ(summary["steps"], 1);
}

}  // namespace
}  // namespace trasmuon::lab
