// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "lab/pinn/sampling.h"
#include "lab/pinn/study.h"
#include "lab/records/run_set.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

const Json kSmall = {{"steps", 64},       {"interior_points", 64}, {"boundary_points", 16}, {"width", 16},
                     {"first_event", 30}, {"event_period", 10},    {"eval_every", 20}};

Json with(Json settings, const Json& more) {
  settings.update(more);
  return settings;
}

struct Result {
  test::TemporaryDirectory folder;
  Json summary;
  double progress = 0;

  explicit Result(const Json& settings, const Options& options = TrasMuonOptions{.lr = 0.003}) {
    const Study& study = pinn_study();
    RunLog log(folder.path(), [&](double fraction) { progress = fraction; });
    summary = study.run(
        {.study = "pinn", .method = "some", .options = options, .settings = study.complete(settings), .seed = 2}, log);
  }

  std::string text(const std::string& table) const { return test::read_file(folder / (table + ".csv")); }
  Columns table(const std::string& name) const { return RunRecord{.folder = folder.path()}.table(name); }
};

TEST(PinnStudy, FillsInThePapersValues) {
  const Json settings = pinn_study().complete({{"steps", 10}});
  EXPECT_EQ(settings["steps"], 10);
  EXPECT_EQ(settings["interior_points"], 1024);
  EXPECT_EQ(settings["boundary_points"], 256);
  EXPECT_EQ(settings["boundary_weight"], 100);
  EXPECT_EQ(settings["width"], 128);
  EXPECT_EQ(settings["depth"], 3);
  EXPECT_EQ(settings["first_event"], 1000);
  EXPECT_EQ(settings["event_period"], 20);
  EXPECT_EQ(settings["roi_fraction"], 0.95);
  EXPECT_EQ(settings["eval_every"], 200);
  EXPECT_EQ(settings.size(), pinn_study().settings().size());
}

TEST(PinnStudy, RefusesBadSettings) {
  const auto error = [](const Json& given) { return test::error_of([&] { pinn_study().complete(given); }); };
  EXPECT_EQ(error({{"steps", 0}}), "pinn: steps must be >= 1, got 0");
  EXPECT_EQ(error({{"roi_fraction", 1.5}}), "pinn: roi_fraction must be in [0, 1], got 1.5");
  EXPECT_EQ(error({{"laplacian", "spectral"}}), "pinn: laplacian must be forward or double-backward, got 'spectral'");
  EXPECT_EQ(error({{"matrix_layers", "none"}}), "pinn: matrix_layers must be hidden, all or everything, got 'none'");
  EXPECT_EQ(error({{"interior_point", 5}}), "pinn: has no setting 'interior_point'; did you mean 'interior_points'?");
}

TEST(PinnStudy, RefusesWhatCannotRun) {
  const Study& study = pinn_study();
  const auto refused = [&](const Json& settings, const Options& options = TrasMuonOptions{}) {
    return test::error_of([&] {
      study.check({.study = "pinn", .method = "some", .options = options, .settings = study.complete(settings)});
    });
  };
  EXPECT_EQ(refused({}), "no error");
  EXPECT_EQ(refused({}, MuonOptions{.momentum_dtype = MomentumDType::bf16}), "no error");  // f32 weights
  EXPECT_EQ(refused({{"event_period", 2147483647}}), "pinn: event_period must be <= 1e+09, got 2147483647");
  EXPECT_EQ(refused({{"width", 50000}}), "pinn: width must be <= 32768, got 50000");
  EXPECT_EQ(refused({{"other_lr", 1e39}}), "pinn: other_lr must be <= 3.4028234663852886e+38, got 1e+39");
  EXPECT_EQ(refused({}, AdamWOptions{.lr = 1e39, .weight_decay = 0}),
            "pinn: lr must be <= 3.4e+38 after lr_scale = 1, got 1e+39");
  EXPECT_EQ(refused({{"matrix_layers", "everything"}}, AdamWOptions{}), "no error");
  EXPECT_EQ(refused({{"matrix_layers", "everything"}}),
            "pinn: matrix_layers must be hidden or all for a matrix rule, got 'everything' for trasmuon");
  EXPECT_GT(study.memory(study.complete({{"interior_points", 2147483647}})), 1e12);
  EXPECT_GT(study.memory(study.complete({{"width", 32768}, {"depth", 1000}})), 1e12);
}

TEST(PinnStudy, WritesItsTables) {
  const Result result(kSmall);
  EXPECT_GT(result.progress, 0.5);
  const Columns metrics = result.table("metrics");
  EXPECT_EQ(metrics.names, (std::vector<std::string>{"step", "loss", "loss_pde", "loss_boundary", "event", "patch",
                                                     "step_size", "r_max", "c_used_min", "c_mean"}));
  ASSERT_EQ(metrics["step"].size(), 64u);
  for (int t = 0; t < 64; ++t) {
    const bool event = t >= 30 && t % 10 == 0;
    EXPECT_EQ(metrics["event"][t], event) << t;
    if (event) EXPECT_EQ(metrics["patch"][t], patch_of_step(t, 2));  // the run's seed
    else EXPECT_TRUE(std::isnan(metrics["patch"][t])) << t;
  }
  const Columns eval = result.table("eval");
  EXPECT_EQ(eval["step"], (std::vector<double>{0, 20, 40, 60, 64}));
  const Columns events = result.table("events");
  EXPECT_EQ(events.names, (std::vector<std::string>{"step", "patch", "roi_rel_l2", "roi_rms", "outside_rel_l2",
                                                    "baseline", "peak_step", "peak_ratio"}));
  EXPECT_EQ(events["step"], (std::vector<double>{30, 40, 50, 60}));
}

TEST(PinnStudy, SummarisesTheRun) {
  const Result result(kSmall);
  for (const char* key : {"spike_peak", "final_rel_l2", "best_rel_l2", "rel_l2_before_events", "step_size",
                          "loss_volatility_before", "loss_volatility_after", "ms_per_step", "lr"}) {
    EXPECT_TRUE(result.summary.contains(key) && result.summary[key].is_number()) << key;
  }
  const Columns eval = result.table("eval"), events = result.table("events"), metrics = result.table("metrics");
  EXPECT_LE(result.summary["best_rel_l2"], result.summary["final_rel_l2"]);
  EXPECT_EQ(result.summary["lr"], 0.003);
  double peak = 0, sizes = 0;
  for (std::size_t i = 0; i < 4; ++i) peak = std::max(peak, events["peak_ratio"][i]);
  for (int t = 0; t < 30; ++t) sizes += metrics["step_size"][t];
  EXPECT_EQ(result.summary["spike_peak"], peak);
  EXPECT_NEAR(result.summary["step_size"], sizes / 30, 1e-9);
}

TEST(PinnStudy, TheSameSpecGivesTheSameRecords) {
  const Result once(kSmall), again(kSmall);
  for (const char* table : {"metrics", "eval", "events"}) EXPECT_EQ(once.text(table), again.text(table)) << table;
}

TEST(PinnStudy, TheFinalErrorIsTheMeanOfTheLastFiveEvaluations) {
  const Result result(with(kSmall, {{"eval_every", 8}}));
  const std::vector<double> errors = result.table("eval")["rel_l2"];
  ASSERT_EQ(errors.size(), 9u);
  double mean = 0;
  for (std::size_t i = 4; i < 9; ++i) mean += errors[i] / 5;
  EXPECT_DOUBLE_EQ(result.summary["final_rel_l2"], mean);
  EXPECT_NE(result.summary["final_rel_l2"], errors.back());
}

TEST(PinnStudy, NothingInARecordDependsOnWhatCountsAsASpike) {
  const Result result(kSmall);
  for (const char* key : {"spikes", "recovery_steps", "valid_event_rate"}) EXPECT_FALSE(result.summary.contains(key));
}

TEST(PinnStudy, PatchesAreThoseOfTheSeedOrOfThePatchSeedForEveryMethod) {
  for (const Options& options : {Options(TrasMuonOptions{}), Options(MuonOptions{}), Options(AdamWOptions{})}) {
    const Columns own = Result(kSmall, options).table("events");
    const Columns given = Result(with(kSmall, {{"patch_seed", 7}}), options).table("events");
    for (std::size_t i = 0; i < 4; ++i) {
      const int step = 30 + 10 * static_cast<int>(i);
      EXPECT_EQ(own["patch"][i], patch_of_step(step, 2)) << rule_name(options);
      EXPECT_EQ(given["patch"][i], patch_of_step(step, 7)) << rule_name(options);
    }
    EXPECT_NE(own["patch"], given["patch"]);
  }
}

TEST(PinnStudy, WithoutEventsTheSameStepsAreJudged) {
  const Result calm(with(kSmall, {{"events", false}}));
  const Columns events = calm.table("events");
  EXPECT_EQ(events["step"], (std::vector<double>{30, 40, 50, 60}));
  const Columns metrics = calm.table("metrics");
  for (const double event : metrics["event"]) EXPECT_EQ(event, 0);
  EXPECT_EQ(calm.summary["rel_l2_before_events"], Result(kSmall).summary["rel_l2_before_events"]);
}

TEST(PinnStudy, FitsTheLearningRateToAStepSize) {
  for (const Options& options : {Options(TrasMuonOptions{.lr = 1e-3}), Options(MuonOptions{.lr = 0.02})}) {
    const Result result(with(kSmall, {{"update_rms", 2e-3}, {"other_lr", 0}}), options);
    EXPECT_NEAR(result.summary["step_size"], 2e-3, 0.021 * 2e-3) << rule_name(options);  // the fit's tolerance
  }
  const Result plain(kSmall, MuonOptions{.lr = 0.5}),
      scaled(with(kSmall, {{"lr_scale", 0.25}}), MuonOptions{.lr = 0.5});
  EXPECT_EQ(plain.summary["lr"], 0.5);
  EXPECT_EQ(scaled.summary["lr"], 0.125);
}

TEST(PinnStudy, ADivergedRunEndsEarly) {
  const Result result(with(kSmall, {{"matrix_layers", "all"}}), TrasMuonOptions{.lr = 1e20,
                                                                                .weight_decay = 0,
                                                                                .clip = Clip::none,
                                                                                .orthogonalize = false,
                                                                                .row_scale = false,
                                                                                .calibrate = false});
  const Columns metrics = result.table("metrics");
  EXPECT_LT(metrics["step"].size(), 64u);
  EXPECT_GT(result.summary["final_rel_l2"].get<double>(), 1e6);
}

TEST(PinnStudy, WithoutAnEventThereIsNothingToJudge) {
  const Result result(with(kSmall, {{"first_event", 100}}));
  EXPECT_TRUE(std::isnan(result.summary["spike_peak"].get<double>()));
  EXPECT_TRUE(std::isnan(result.summary["rel_l2_before_events"].get<double>()));
}

}  // namespace
}  // namespace trasmuon::lab
