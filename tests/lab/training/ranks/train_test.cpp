// SPDX-License-Identifier: Apache-2.0
// Training over ranks, through Gloo on this machine.
#include "lab/training/train.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>

#include "lab/records/run_record.h"
#include "lab/training/tiny_task.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

TrainingSettings settings_of(int ranks, int micro_batch) {
  return {.steps = 40, .batch = 24, .micro_batch = micro_batch, .eval_every = 10, .burst_period = 15, .ranks = ranks};
}

struct Done {
  Json summary;
  Columns metrics, eval;
  std::vector<std::string> files;
};

Done run(const TrainingSettings& settings, const Options& method, int breaks_at = -1) {
  const test::TemporaryDirectory folder;
  const RunSpec spec{.study = "x", .method = "m", .options = method, .settings = Json::object(), .seed = 4};
  RunLog log(folder.path());
  const Json summary =
      train([&] { return tiny_task(4, micro_batch_size(settings), 0, breaks_at); }, settings, spec, log);
  log.flush();
  const RunRecord tables{.folder = folder.path(), .spec = spec, .summary = summary};
  return {summary, tables.table("metrics"), tables.table("eval"), folder.names()};
}

/// The largest difference of a column, relative to its largest value.
double difference(const Columns& a, const Columns& b, const char* name) {
  double largest = 0, scale = 0;
  EXPECT_EQ(a[name].size(), b[name].size());
  for (std::size_t i = 0; i < a[name].size(); ++i) {
    if (std::isnan(a[name][i]) && std::isnan(b[name][i])) continue;
    largest = std::max(largest, std::abs(a[name][i] - b[name][i]));
    scale = std::max(scale, std::abs(a[name][i]));
  }
  return largest / scale;
}

TEST(TrainOverRanks, IsTheTrainingOfOneProcessUpToRounding) {
  for (const Options& method : {Options(TrasMuonOptions{}), Options(MuonOptions{}), Options(AdamWOptions{})}) {
    const Done alone = run(settings_of(1, 0), method);
    for (const int ranks : {2, 3}) {
      for (const int micro_batch : {0, 4}) {
        const Done together = run(settings_of(ranks, micro_batch), method);
        EXPECT_EQ(together.files, alone.files);
        // After 40 steps; a rank that was left out, or a sum instead of a mean, changes these by more than 0.1.
        EXPECT_LT(difference(together.metrics, alone.metrics, "loss"), 1e-3) << rule_name(method) << ranks;
        EXPECT_LT(difference(together.metrics, alone.metrics, "gradient_norm"), 1e-2);
        EXPECT_LT(difference(together.eval, alone.eval, "val_loss"), 1e-3);
      }
    }
  }
}

TEST(TrainOverRanks, HasTheSameBitsTwice) {
  const TrainingSettings settings = settings_of(3, 4);
  const Done first = run(settings, TrasMuonOptions{}), second = run(settings, TrasMuonOptions{});
  EXPECT_EQ(difference(first.metrics, second.metrics, "loss"), 0);
  EXPECT_EQ(difference(first.metrics, second.metrics, "r_max"), 0);
}

TEST(TrainOverRanks, EndsOnAllRanksWhereTheLossOfOneIsNotFinite) {
  const Done done = run(settings_of(2, 0), MuonOptions{}, 7);
  EXPECT_EQ(done.metrics["loss"].size(), 8u);
  EXPECT_TRUE(std::isinf(done.metrics["loss"].back()));
}

TEST(TrainOverRanks, FitsTheLearningRateOnAllRanksAlike) {
  TrainingSettings settings = settings_of(2, 0);
  settings.steps = 60;
  settings.burst_period = 0;
  settings.update_rms = 2e-3;
  EXPECT_NEAR(run(settings, MuonOptions{}).summary["update_rms"].get<double>(), 2e-3, 3e-4);
}

/// Breaks in rank 1, which is the one that asks for micro-batch 1.
class BreakingTask final : public Task {
 public:
  BreakingTask(std::unique_ptr<Task> task, bool dies) : task_(std::move(task)), dies_(dies) {}
  torch::nn::Module& model() override { return task_->model(); }
  at::Tensor loss(std::int64_t step, int micro_batch) override {
    if (step == 5 && micro_batch == 1) {
      if (dies_) ::raise(SIGKILL);
      throw Error("image 17 is damaged");
    }
    return task_->loss(step, micro_batch);
  }
  Evaluation evaluate() override { return task_->evaluate(); }
  double items_per_micro_batch() const override { return task_->items_per_micro_batch(); }
  double flops_per_micro_batch() const override { return task_->flops_per_micro_batch(); }

 private:
  std::unique_ptr<Task> task_;
  bool dies_;
};

TEST(TrainOverRanks, NamesTheRankThatBreaks) {
  for (const bool dies : {false, true}) {
    const test::TemporaryDirectory folder;
    const RunSpec spec{.study = "x", .method = "m", .options = MuonOptions{}, .settings = Json::object(), .seed = 4};
    RunLog log(folder.path());
    const std::string error = test::error_of([&] {
      train([&] { return std::make_unique<BreakingTask>(tiny_task(4, 12), dies); }, settings_of(2, 12), spec, log);
    });
    EXPECT_EQ(error, dies ? "rank 1: killed by signal 9 (Killed)" : "rank 1: image 17 is damaged");
  }
}

}  // namespace
}  // namespace trasmuon::lab
