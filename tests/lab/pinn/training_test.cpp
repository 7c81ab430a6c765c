// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/training.h"

#include <gtest/gtest.h>
#include <trasmuon/optimizer.h>

#include <cmath>
#include <set>

namespace trasmuon::lab {
namespace {

PinnSettings small() {
  PinnSettings settings;
  settings.interior_points = 64;
  settings.boundary_points = 16;
  settings.width = 16;
  settings.first_event = 20;
  settings.event_period = 5;
  return settings;
}

std::vector<double> losses(const PinnSettings& settings, const Options& options, std::uint64_t seed, int steps) {
  PinnTraining training(settings, options, seed);
  std::vector<double> result;
  for (int t = 0; t < steps; ++t) result.push_back(training.step().loss);
  return result;
}

std::vector<float> weights(const trasmuon::Optimizer& optimizer, std::size_t index) {
  const TensorView& view = optimizer.parameter(index).weight;
  const auto* data = static_cast<const float*>(view.data);
  return {data, data + view.shape.elements()};
}

TEST(PinnTraining, SixtyStepsLowerTheLoss) {
  PinnSettings settings = small();
  settings.events = false;
  settings.other_lr = 0.02;
  for (const Options& options :
       {Options(TrasMuonOptions{.lr = 0.05}), Options(NorMuonOptions{.lr = 0.05}), Options(MuonOptions{.lr = 0.02}),
        Options(DionOptions{.lr = 0.1}), Options(AdamWOptions{.lr = 0.05})}) {
    PinnTraining training(settings, options, 1);
    double first = 0, last = 0;
    for (int t = 0; t < 60; ++t) (t < 30 ? first : last) += training.step().loss;
    EXPECT_LT(last, 0.9 * first) << rule_name(options);
  }
}

TEST(PinnTraining, TheSameSeedGivesTheSameNumbers) {
  const auto once = losses(small(), TrasMuonOptions{}, 3, 30);
  EXPECT_EQ(once, losses(small(), TrasMuonOptions{}, 3, 30));
  EXPECT_NE(once, losses(small(), TrasMuonOptions{}, 4, 30));
}

TEST(PinnTraining, BothLaplaciansTrainAlike) {
  PinnSettings settings = small();
  const auto fast = losses(settings, TrasMuonOptions{}, 3, 10);
  settings.laplacian = "double-backward";
  const auto reference = losses(settings, TrasMuonOptions{}, 3, 10);
  for (std::size_t t = 0; t < fast.size(); ++t) EXPECT_NEAR(fast[t] / reference[t], 1, 1e-3) << t;
}

TEST(PinnTraining, RunsDifferFromTheFirstEventOn) {
  PinnSettings settings = small();
  PinnTraining with(settings, MuonOptions{}, 3);
  settings.events = false;
  PinnTraining without(settings, MuonOptions{}, 3);
  for (int t = 0; t < 40; ++t) {
    const PinnStep a = with.step(), b = without.step();
    EXPECT_EQ(b.patch, -1);
    EXPECT_EQ(a.patch >= 0, t >= 20 && t % 5 == 0) << t;
    if (t < 20) EXPECT_EQ(a.loss, b.loss) << t;
    else EXPECT_NE(a.loss, b.loss) << t;
  }
}

TEST(PinnTraining, TheLossIsTheSumOfItsParts) {
  PinnSettings settings = small();
  settings.boundary_weight = 7;
  const PinnStep seen = PinnTraining(settings, MuonOptions{}, 3).step();
  EXPECT_GT(seen.loss_pde, 0);
  EXPECT_GT(seen.loss_boundary, 0);
  EXPECT_DOUBLE_EQ(seen.loss, seen.loss_pde + 7 * seen.loss_boundary);
}

TEST(PinnTraining, WhichRuleTrainsWhat) {
  PinnSettings settings = small();  // layers 2 -> 16 -> 16 -> 16 -> 1
  settings.matrix_layers = "hidden";
  settings.other_lr = 0.5;
  const auto rules = [&] {
    PinnTraining training(settings, MuonOptions{.lr = 0.25}, 3);
    std::multiset<std::string> found;
    for (std::size_t i = 0; i < training.optimizer().parameter_count(); ++i) {
      const Options& options = training.optimizer().options(training.optimizer().group_of(i));
      std::string line = rule_name(options);
      line += ' ' + get_field(options, "lr") + ' ' + to_string(training.optimizer().parameter(i).weight.shape);
      found.insert(line);
    }
    return found;
  };
  EXPECT_EQ(rules(), (std::multiset<std::string>{"muon 0.25 [16, 16]", "muon 0.25 [16, 16]", "adamw 0.5 [16, 2]",
                                                 "adamw 0.5 [1, 16]", "adamw 0.5 [16]", "adamw 0.5 [16]",
                                                 "adamw 0.5 [16]", "adamw 0.5 [1]"}));
  settings.matrix_layers = "all";
  EXPECT_EQ(rules(), (std::multiset<std::string>{"muon 0.25 [16, 16]", "muon 0.25 [16, 16]", "muon 0.25 [16, 2]",
                                                 "muon 0.25 [1, 16]", "adamw 0.5 [16]", "adamw 0.5 [16]",
                                                 "adamw 0.5 [16]", "adamw 0.5 [1]"}));
  settings.matrix_layers = "hidden";
  settings.depth = 1;  // no hidden matrix at all
  EXPECT_EQ(rules(),
            (std::multiset<std::string>{"adamw 0.5 [16, 2]", "adamw 0.5 [1, 16]", "adamw 0.5 [16]", "adamw 0.5 [1]"}));
}

TEST(PinnTraining, StepSizeIsTheChangeOfAllParameters) {
  PinnTraining training(small(), MuonOptions{}, 3);
  const trasmuon::Optimizer& optimizer = training.optimizer();
  std::vector<std::vector<float>> before;
  for (std::size_t i = 0; i < optimizer.parameter_count(); ++i) before.push_back(weights(optimizer, i));
  const double step_size = training.step().step_size;
  double moved = 0, count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::vector<float> after = weights(optimizer, i);
    for (std::size_t j = 0; j < after.size(); ++j) moved += std::pow(double(after[j]) - double(before[i][j]), 2);
    count += static_cast<double>(after.size());
  }
  EXPECT_NEAR(step_size, std::sqrt(moved / count), 1e-6 * step_size);
}

// The paper's bounds, at every step of a run with events: ||dW||_F <= eta sqrt(mn) and c in [c_min, 1].
TEST(PinnTraining, TrasMuonKeepsItsBounds) {
  PinnSettings settings = small();
  settings.roi_fraction = 1;
  for (TrasMuonOptions options : {TrasMuonOptions{}, TrasMuonOptions::paper()}) {
    options.lr = 0.02;
    options.weight_decay = 0;
    options.alpha = 3;
    options.c_min = 0.2;
    options.trigger = 1;
    PinnTraining training(settings, options, 3);
    double strongest = 1;
    for (int t = 0; t < 80; ++t) {
      const std::vector<float> before[2] = {weights(training.optimizer(), 0), weights(training.optimizer(), 1)};
      const PinnStep seen = training.step();
      strongest = std::min(strongest, seen.c_min);
      EXPECT_GE(seen.c_min, options.c_min * (1 - 1e-6)) << t;
      EXPECT_LE(seen.c_mean, 1) << t;
      EXPECT_GE(seen.c_mean, seen.c_min) << t;
      for (std::size_t i = 0; i < 2; ++i) {
        const std::vector<float> after = weights(training.optimizer(), i);
        double moved = 0;
        for (std::size_t j = 0; j < after.size(); ++j) moved += std::pow(double(after[j]) - double(before[i][j]), 2);
        // Weights of size one are rounded to 6e-8 when they are written.
        EXPECT_LE(std::sqrt(moved), options.lr * 16 * (1 + 1e-4)) << t;
        const TensorView c = training.optimizer().state(i, "c_last");
        for (int j = 0; j < 16; ++j) {
          EXPECT_GE(static_cast<const float*>(c.data)[j], options.c_min * (1 - 1e-6)) << t;
          EXPECT_LE(static_cast<const float*>(c.data)[j], 1) << t;
        }
      }
    }
    EXPECT_LT(strongest, 0.9);  // or the test would show nothing
  }
}

TEST(PinnTraining, ErrorsAreMeasured) {
  PinnSettings settings = small();
  PinnTraining training(settings, MuonOptions{}, 3);
  EXPECT_GT(training.relative_l2(), 0.1);
  for (const int patch : {0, 5, 11}) {
    const LocalError error = training.local_error(patch);
    EXPECT_GT(error.roi_rel_l2, 0);
    EXPECT_GT(error.roi_rms, 0);
    EXPECT_NEAR(error.outside_rel_l2, training.relative_l2(), 0.1 * error.outside_rel_l2);
  }
  EXPECT_EQ(training.local_error(3).roi_rms, training.local_error(3).roi_rms);
}

}  // namespace
}  // namespace trasmuon::lab
