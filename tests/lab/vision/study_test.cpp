// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/study.h"

#include <gtest/gtest.h>

#include "lab/records/run_record.h"
#include "lab/vision/tiny_images.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

const Options kTrasMuon = TrasMuonOptions{.lr = 3e-3, .weight_decay = 0};

struct Result {
  test::TemporaryDirectory data, folder;
  Json summary;

  explicit Result(const Json& more = Json::object(), const Options& options = kTrasMuon) {
    write_tiny_mnist(data.path(), 1000, 100);
    Json settings = settings_to_json(tiny_settings(data.path()));
    settings.update(more);
    RunLog log(folder.path(), [](double) {});
    summary = vision_study().run(
        {.study = "vision", .method = "some", .options = options, .settings = settings, .seed = 2}, log);
    log.flush();
  }

  double number(const char* key) const { return summary.at(key).get<double>(); }
  std::string text(const std::string& table) const { return test::read_file(folder / (table + ".csv")); }
};

TEST(VisionStudy, EveryRuleLearns) {
  for (const Options& options : {kTrasMuon, Options(MuonOptions{.lr = 3e-3, .scaling = MuonScaling::match_rms_adamw}),
                                 Options(NorMuonOptions{.lr = 1e-2}), Options(AdamWOptions{.lr = 3e-3})}) {
    const Result result({{"steps", 150}}, options);
    EXPECT_LT(result.number("final_val_error"), 0.6) << rule_name(options);  // guessing: 0.9
    EXPECT_LT(result.number("final_loss"), 1.5) << rule_name(options);       // guessing: 2.3
    EXPECT_DOUBLE_EQ(result.number("epochs"), 150.0 * 20 / 1000) << rule_name(options);
  }
}

TEST(VisionStudy, TheSameRunHasTheSameTables) {
  const Json settings = {{"augmentation", "crop"}, {"mixup", 0.8}, {"burst_period", 5}};
  const Result first(settings), second(settings);
  for (const char* table : {"metrics", "eval", "bursts"}) EXPECT_EQ(first.text(table), second.text(table)) << table;
}

TEST(VisionStudy, BurstsAndThePlaceboChangeTheRun) {
  const Result calm, bursts({{"burst_period", 5}, {"burst_start", 10}}),
      placebo({{"burst_period", 5}, {"burst_start", 10}, {"damping", "permuted"}});
  EXPECT_EQ(calm.number("bursts"), 0);
  EXPECT_EQ(bursts.number("bursts"), 4);  // of steps 10, 15, 20, 25
  EXPECT_NE(calm.number("final_loss"), bursts.number("final_loss"));
  EXPECT_NE(placebo.number("final_loss"), bursts.number("final_loss"));
}

TEST(VisionStudy, RecomputingChangesNothing) {
  const Result kept, recomputed(Json{{"recompute", true}});
  EXPECT_EQ(kept.text("metrics"), recomputed.text("metrics"));
}

TEST(VisionStudy, MissingDataIsNamed) {
  const test::TemporaryDirectory empty;
  Json settings = settings_to_json(tiny_settings(empty.path()));
  RunLog log(empty.path(), [](double) {});
  const std::string error = test::error_of([&] {
    vision_study().run({.study = "vision", .method = "some", .options = kTrasMuon, .settings = settings, .seed = 0},
                       log);
  });
  EXPECT_NE(error.find("train-labels-idx1-ubyte"), std::string::npos) << error;
}

}  // namespace
}  // namespace trasmuon::lab
