// SPDX-License-Identifier: Apache-2.0
// Training on a GPU is that on the CPU, but for the precision of products and of the iteration.
#include <gtest/gtest.h>

#include <cmath>

#include "lab/records/run_record.h"
#include "lab/training/tiny_task.h"
#include "lab/training/train.h"
#include "libtorch/on_gpu.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

class TrainingOnGpu : public libtorch::LibtorchOnGpu {
 protected:
  struct Done {
    Json summary;
    Columns metrics;
    std::vector<std::string> files;
  };

  static Done run(TrainingSettings settings, const Options& method, const std::string& device) {
    settings.device = device;
    const test::TemporaryDirectory folder;
    const RunSpec spec{.study = "x", .method = "m", .options = method, .settings = Json::object(), .seed = 4};
    RunLog log(folder.path());
    const Json summary = train([&] { return tiny_task(4, micro_batch_size(settings), 0); }, settings, spec, log);
    log.flush();
    const RunRecord tables{.folder = folder.path(), .spec = spec, .summary = summary};
    return {summary, tables.table("metrics"), folder.names()};
  }

  static double largest_difference(const Done& a, const Done& b, const char* name) {
    double largest = 0;
    EXPECT_EQ(a.metrics[name].size(), b.metrics[name].size());
    for (std::size_t i = 0; i < a.metrics[name].size(); ++i) {
      if (!std::isnan(a.metrics[name][i]))
        largest = std::max(largest, std::abs(a.metrics[name][i] / b.metrics[name][i] - 1));
    }
    return largest;
  }
};

// 2 %: the iteration runs in f16, and 30 steps carry its rounding on.
constexpr double kTolerance = 0.02;

TEST_F(TrainingOnGpu, FollowsTheCpuUnderEveryRule) {
  const TrainingSettings settings{
      .steps = 30, .batch = 32, .micro_batch = 16, .eval_every = 10, .burst_period = 10, .burst_start = 10};
  for (const Options& method : {Options(TrasMuonOptions{}), Options(NorMuonOptions{}), Options(MuonOptions{}),
                                Options(DionOptions{}), Options(AdamWOptions{})}) {
    const Done here = run(settings, method, "cpu"), there = run(settings, method, "cuda");
    EXPECT_EQ(there.files, here.files) << rule_name(method);
    EXPECT_LT(largest_difference(there, here, "loss"), kTolerance) << rule_name(method);
    EXPECT_LT(largest_difference(there, here, "update_rms"), kTolerance) << rule_name(method);
  }
}

TEST_F(TrainingOnGpu, GivesOtherColumnsTheDampingToo) {
  for (const char* damping : {"permuted", "mean"}) {
    const TrainingSettings settings{.steps = 20, .batch = 32, .damping = damping};
    const Done here = run(settings, TrasMuonOptions{}, "cpu"), there = run(settings, TrasMuonOptions{}, "cuda");
    EXPECT_LT(largest_difference(there, here, "loss"), kTolerance) << damping;
  }
}

TEST_F(TrainingOnGpu, LearnsInMixedPrecisionAndReportsItsSpeed) {
  TrainingSettings settings{.steps = 60, .batch = 64, .eval_every = 60, .checkpoint_every = 20};
  settings.precision = "bf16";
  settings.peak_tflops = 1000;
  const Done done = run(settings, TrasMuonOptions{.lr = 0.02}, "cuda");
  EXPECT_LT(done.metrics["loss"].back(), 0.7 * done.metrics["loss"].front());
  EXPECT_GT(done.summary["items_per_second"].get<double>(), 0);
  EXPECT_GT(done.summary["mfu"].get<double>(), 0);
  EXPECT_LT(done.summary["optimizer_share"].get<double>(), 1);
}

}  // namespace
}  // namespace trasmuon::lab
