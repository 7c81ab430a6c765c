// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "lab/mechanistic/study.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

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

  std::string error_of(const Json& settings) {
    return test::error_of([&] { study_.complete(settings); });
  }

  const Study& study_ = mechanistic_study();
  const test::TemporaryDirectory folder_;
  double progress_ = 0;
};

const Json kSmall = {{"dim", 8}, {"steps", 64}};

TEST_F(MechanisticStudyTest, FillsInDefaults) {
  const Json settings = study_.complete({{"kappa", 1e6}, {"b_basis", "random"}});
  EXPECT_EQ(settings["kappa"], 1e6);
  EXPECT_EQ(settings["b_basis"], "random");
  EXPECT_EQ(settings["steps"], 1005);
  EXPECT_EQ(settings["burst_factor"], 1000);
  EXPECT_EQ(settings.size(), study_.settings().size());
}

TEST_F(MechanisticStudyTest, RefusesBadSettings) {
  EXPECT_EQ(error_of({{"kappa", -3}}), "mechanistic: kappa must be >= 1, got -3");
  EXPECT_EQ(error_of({{"kapa", 3}}), "mechanistic: has no setting 'kapa'; did you mean 'kappa'?");
  EXPECT_EQ(error_of({{"dim", 4}, {"burst_columns", 5}}), "mechanistic: burst_columns must be <= dim = 4, got 5");
  EXPECT_EQ(error_of({{"kappa", 1e200}}), "mechanistic: kappa must be <= 1e+100, got 1e+200");
  EXPECT_EQ(error_of({{"steps", 2e9}}), "mechanistic: steps must be <= 1000000000, got 2000000000");
  EXPECT_EQ(error_of({{"burst_period", 2e9}}), "mechanistic: burst_period must be <= 1000000000, got 2000000000");
  EXPECT_EQ(error_of({{"lr_scale", 0}}), "mechanistic: lr_scale must be > 0, got 0");
  EXPECT_EQ(error_of({{"lr_end", 2}}), "mechanistic: lr_end must be in [0, 1], got 2");
  EXPECT_EQ(error_of({{"burst_phase", 10}}), "mechanistic: burst_phase must be < burst_period = 10, got 10");
  EXPECT_EQ(error_of({{"b_basis", "haar"}}), "mechanistic: b_basis must be identity or random, got 'haar'");
}

TEST_F(MechanisticStudyTest, RefusesWhatCannotRun) {
  const auto refused = [&](const Json& settings, const Options& options) {
    const RunSpec spec{
        .study = "mechanistic", .method = "some", .options = options, .settings = study_.complete(settings)};
    return test::error_of([&] { study_.check(spec); });
  };
  EXPECT_EQ(refused({}, TrasMuonOptions{}), "no error");
  EXPECT_EQ(refused({{"damping", "mean"}}, MuonOptions{}),
            "mechanistic: damping must be columns unless the rule is trasmuon, got mean with muon");
  EXPECT_EQ(refused({{"damping", "blind"}}, TrasMuonOptions{.weight_decay = 0.1}),
            "mechanistic: weight_decay must be 0 where damping is blind, got 0.1");
  EXPECT_EQ(refused({}, AdamWOptions{.beta1 = 0}),
            "mechanistic: beta1 must be > 0 for bursts in AdamW's first moment, got 0");
  EXPECT_EQ(refused({{"update_rms", 1}}, MuonOptions{.lr = 0}),
            "mechanistic: lr must be > 0 where update_rms is given, got 0");
  EXPECT_EQ(refused({{"lr_scale", 1e10}}, MuonOptions{.lr = 1e300}),
            "mechanistic: lr must be <= 1.8e+308 after lr_scale = 1e+10, got 1e+300");
  EXPECT_EQ(refused({}, MuonOptions{.ns_precision = NewtonSchulzPrecision::tf32}),
            "muon: ns_precision must be automatic, f32 or bf16 on the CPU, got 'tf32'");
}

TEST_F(MechanisticStudyTest, KnowsWhatItNeeds) {
  const auto memory = [&](const Json& settings) { return study_.memory(study_.complete(settings)); };
  EXPECT_GT(memory({{"dim", 4096}}), 10 * 8.0 * 4096 * 4096);
  EXPECT_GT(memory({{"steps", 1000000000}}), 16e9);
  EXPECT_LT(memory({}), 10e6);
}

TEST_F(MechanisticStudyTest, WritesATableAndASummary) {
  const Json summary = run(kSmall);
  for (const char* key : {"spikes", "spike_peak", "final_loss", "best_loss", "mean_c", "min_c", "update_rms", "lr",
                          "bound_violations", "c_violations", "initial_loss", "final_median", "steps"}) {
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
  const Json summary = run(kSmall, TrasMuonOptions{.lr = 1e20,
                                                   .weight_decay = 0,
                                                   .clip = Clip::none,
                                                   .orthogonalize = false,
                                                   .row_scale = false,
                                                   .calibrate = false});
  EXPECT_TRUE(Json::parse(summary.dump())["final_loss"].is_null());
  EXPECT_LT(summary["steps"].get<int>(), 10);
}

}  // namespace
}  // namespace trasmuon::lab
