// SPDX-License-Identifier: Apache-2.0
#include "lab/training/train.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/records/run_record.h"
#include "support/temporary_directory.h"
#include "tiny_task.h"

namespace trasmuon::lab {
namespace {

struct Done {
  Json summary;
  RunRecord tables;
};

Done run(const test::TemporaryDirectory& folder, const TrainingSettings& settings, const Options& method,
         int breaks_at = -1) {
  const RunSpec spec{.study = "x", .method = "m", .options = method, .settings = Json::object(), .seed = 4};
  RunLog log(folder.path());
  const Json summary =
      train([&] { return tiny_task(4, micro_batch_size(settings), 0, breaks_at); }, settings, spec, log);
  log.flush();
  return {summary, {.folder = folder.path(), .spec = spec, .summary = summary}};
}

TEST(Train, WritesTablesAndSummary) {
  const test::TemporaryDirectory folder;
  const Done done =
      run(folder, {.steps = 30, .batch = 32, .eval_every = 10, .diagnostics_every = 5}, TrasMuonOptions{});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"damped_share.csv", "eval.csv", "metrics.csv", "ratio_max.csv",
                                                      "ratio_q95.csv"}));
  const Columns metrics = done.tables.table("metrics"), ratios = done.tables.table("ratio_max");
  EXPECT_EQ(metrics["step"].size(), 30u);
  EXPECT_EQ(done.tables.table("eval")["step"], (std::vector<double>{0, 10, 20, 30}));
  EXPECT_EQ(ratios.names, (std::vector<std::string>{"step", "fc1.weight", "fc2.weight"}));
  EXPECT_EQ(ratios["step"], (std::vector<double>{0, 5, 10, 15, 20, 25}));
  for (std::size_t i = 0; i < ratios["step"].size(); ++i) {
    const auto step = static_cast<std::size_t>(ratios["step"][i]);
    EXPECT_EQ(metrics["r_max"][step], std::max(ratios["fc1.weight"][i], ratios["fc2.weight"][i]));
    EXPECT_GT(metrics["update_rms"][step], 0);
  }
  EXPECT_TRUE(std::isnan(metrics["r_max"][1]));
  EXPECT_GT(metrics["gradient_norm"][9], 0);
  EXPECT_LT(done.summary["final_val_loss"], done.tables.table("eval")["val_loss"][0]);
  EXPECT_GT(done.summary["items_per_second"], 0);
  EXPECT_GT(done.summary["optimizer_share"], 0);
  EXPECT_LT(done.summary["optimizer_share"], 1);
}

TEST(Train, LogsWhatBurstsDidAndWhatTheDampingDidToThem) {
  const test::TemporaryDirectory folder;
  const TrainingSettings settings{.steps = 60, .batch = 32, .burst_period = 20, .burst_start = 30, .burst_size = 500};
  const Done done = run(folder, settings, TrasMuonOptions{});
  const Columns bursts = done.tables.table("bursts");
  EXPECT_EQ(bursts["step"], (std::vector<double>{30, 50}));
  EXPECT_EQ(done.summary["bursts"], 2);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(bursts["share"][i], 1);
    EXPECT_GT(bursts["r_max"][i], 20);
    EXPECT_LT(bursts["c_hit"][i], 0.7);
    EXPECT_LT(bursts["c_hit"][i], bursts["c_mean"][i]);
  }
}

TEST(Train, EndsADivergedRunWithAReport) {
  const test::TemporaryDirectory folder;
  const Done done = run(folder, {.steps = 30, .batch = 32, .checkpoint_every = 1}, MuonOptions{}, 7);
  EXPECT_EQ(done.tables.table("metrics")["loss"].size(), 8u);
  EXPECT_TRUE(std::isinf(done.tables.table("metrics")["loss"].back()));
  const Json summary = Json::parse(done.summary.dump());
  EXPECT_TRUE(summary["final_loss"].is_null());
  EXPECT_TRUE(summary["final_val_loss"].is_null());
  EXPECT_EQ(summary["steps_done"], 8);
}

TEST(Train, FitsTheLearningRateToAnUpdateRms) {
  for (const Options& method :
       {Options(MuonOptions{}), Options(TrasMuonOptions{.clip = Clip::none}), Options(DionOptions{})}) {
    const test::TemporaryDirectory folder;
    const Done done = run(folder, {.steps = 60, .batch = 32, .update_rms = 2e-3}, method);
    EXPECT_NEAR(done.summary["update_rms"].get<double>(), 2e-3, 3e-4) << rule_name(method);
  }
}

}  // namespace
}  // namespace trasmuon::lab
