// SPDX-License-Identifier: Apache-2.0
#include "lab/training/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/records/run_log.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Tables as train() writes them: 200 steps, in every second one the optimizer is looked at.
Json summary_of(const TrainingSettings& settings, double last_loss = 4) {
  const test::TemporaryDirectory folder;
  RunLog log(folder.path());
  for (int step = 0; step < 200; ++step) {
    const bool look = step % 2 == 0;
    const double late = step >= 100 ? 1 : 0, loss = step == 150 ? 50 : step == 199 ? last_loss : step < 60 ? 8 : 4;
    log.table("metrics", {"step", "loss", "lr_factor", "gradient_norm", "burst", "update_rms", "r_max", "r_q95",
                          "c_min", "c_mean", "damped_share", "triggered", "skipped"})
        .row({double(step), loss, step < 20 ? 0.5 : 1.0, kNaN, step == 40 ? 1.0 : 0.0,
              look ? (step < 20 ? 9 : 2) : kNaN, look ? 3 + late : kNaN, look ? 1 : kNaN, look ? 0.5 : kNaN,
              look ? 0.75 : kNaN, look ? 0.25 * late : kNaN, look ? 0.5 * late : kNaN, look ? 3 : kNaN});
  }
  log.table("eval", {"step", "val_loss"}).row({0, 9});
  log.table("eval", {"step", "val_loss"}).row({100, 3.5});
  log.table("eval", {"step", "val_loss"}).row({200, 3.75});
  log.flush();
  return training_summary(folder.path(), settings,
                          {.seconds = 20, .steps = 200, .measured_seconds = 2, .optimizer_seconds = 0.5},
                          {.items = 1000, .flops = 1e9}, 0.01);
}

TEST(TrainingSummary, ComesFromTheTables) {
  const Json s = summary_of({.target_loss = 7, .peak_tflops = 0.1});
  EXPECT_EQ(s["final_loss"], 4);
  EXPECT_EQ(s["final_val_loss"], 3.75);
  EXPECT_EQ(s["best_val_loss"], 3.5);
  EXPECT_EQ(s["spikes"], 1);
  EXPECT_EQ(s["spike_peak"], 12.5);
  EXPECT_EQ(s["steps_to_target"], 60);
  EXPECT_EQ(s["update_rms"], 2);  // at the full learning rate only
  EXPECT_EQ(s["r_max_settled"], 4);
  EXPECT_EQ(s["damped_settled"], 0.25);
  EXPECT_EQ(s["triggered_settled"], 0.5);
  EXPECT_EQ(s["c_mean"], 0.75);
  EXPECT_EQ(s["skipped"], 3);
  EXPECT_EQ(s["bursts"], 1);
  EXPECT_EQ(s["ms_per_step"], 100);
  EXPECT_EQ(s["items_per_second"], 10000);
  EXPECT_EQ(s["optimizer_share"], 0.25);
  EXPECT_DOUBLE_EQ(s["mfu"].get<double>(), 0.1);
}

TEST(TrainingSummary, OfADivergedRunHasNoFinalNumbers) {
  const Json s = Json::parse(summary_of({}, std::numeric_limits<double>::infinity()).dump());
  EXPECT_TRUE(s["final_loss"].is_null());
  EXPECT_TRUE(s["final_val_loss"].is_null());
  EXPECT_EQ(s["best_val_loss"], 3.5);
  EXPECT_TRUE(s["mfu"].is_null());
  EXPECT_TRUE(s["steps_to_target"].is_null());
}

}  // namespace
}  // namespace trasmuon::lab
