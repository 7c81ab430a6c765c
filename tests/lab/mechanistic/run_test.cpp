// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

const TrasMuonOptions kDamped{
    .lr = 8e-3, .weight_decay = 0, .nesterov = false, .rms_scale = 1, .alpha = 0.4, .trigger = 4, .warmup = 20};

MechanisticSettings small() {
  MechanisticSettings settings;
  settings.dim = 16;
  settings.steps = 100;
  return settings;
}

struct Recorded {
  std::vector<MechanisticStep> steps;
  MechanisticSummary summary;
};

Recorded record(const MechanisticSettings& settings, const Options& options, std::uint64_t seed = 0) {
  Recorded recorded;
  recorded.summary = run_mechanistic(settings, options, seed, [&](const auto& s) { recorded.steps.push_back(s); });
  return recorded;
}

std::string error_of(const MechanisticSettings& settings, const Options& options) {
  return test::error_of([&] { run_mechanistic(settings, options, 0); });
}

TEST(MechanisticRun, TellsOfEveryStep) {
  const auto [steps, summary] = record(small(), kDamped);
  ASSERT_EQ(steps.size(), 101u);
  double sum_c = 0, sum_rms = 0, lowest = 1, best = steps[0].loss;
  for (int t = 0; t <= 100; ++t) {
    EXPECT_EQ(steps[t].step, t);
    EXPECT_EQ(steps[t].event, t > 0 && t % 10 == 0);
    best = std::min(best, steps[t].loss);
    if (t == 0) continue;
    sum_c += steps[t].c_mean / 100;
    sum_rms += steps[t].update_rms / 100;
    lowest = std::min(lowest, steps[t].c_min);
    EXPECT_LE(steps[t].c_min, steps[t].c_mean);
    EXPECT_LE(steps[t].c_min, steps[t].c_hit);
    EXPECT_LE(steps[t].r_q95, steps[t].r_max);
  }
  EXPECT_EQ(summary.initial_loss, steps[0].loss);
  EXPECT_EQ(summary.final_loss, steps[100].loss);
  EXPECT_EQ(summary.best_loss, best);
  EXPECT_NEAR(summary.mean_c, sum_c, 1e-12);
  EXPECT_NEAR(summary.update_rms, sum_rms, 1e-12);
  EXPECT_EQ(summary.min_c, lowest);
  EXPECT_EQ(summary.lr, 8e-3);
  EXPECT_EQ(summary.steps, 100);
  EXPECT_EQ(summary.bound_violations, 0);
  EXPECT_EQ(summary.c_violations, 0);
  EXPECT_LT(summary.min_c, 0.7);
  EXPECT_LT(summary.final_loss, summary.initial_loss);
}

TEST(MechanisticRun, ABurstRaisesTheEnergyOfItsColumnAndDampsIt) {
  MechanisticSettings settings = small();
  settings.isotropic_b = true;  // else a column stands out without bursts
  const auto steps = record(settings, kDamped).steps;
  for (int event = 30; event <= 100; event += 10) {
    EXPECT_GT(steps[event].r_max, 100 * steps[event - 1].r_max) << event;
    EXPECT_LT(steps[event].c_hit, 0.7) << event;
  }
  EXPECT_EQ(steps[10].c_hit, 1);  // warm-up
}

TEST(MechanisticRun, IsDeterministicAndDependsOnSeedAndSettings) {
  const double loss = record(small(), kDamped).summary.final_loss;
  EXPECT_EQ(record(small(), kDamped).summary.final_loss, loss);
  EXPECT_NE(record(small(), kDamped, 1).summary.final_loss, loss);
  for (auto change : std::initializer_list<void (*)(MechanisticSettings&)>{
           [](auto& s) { s.kappa = 1e3; }, [](auto& s) { s.b_basis = "random"; },
           [](auto& s) { s.burst_basis = "mixed"; }, [](auto& s) { s.isotropic_b = true; },
           [](auto& s) { s.bursts = false; }, [](auto& s) { s.burst_factor = 10; }, [](auto& s) { s.burst_period = 7; },
           [](auto& s) { s.burst_columns = 2; }, [](auto& s) { s.damping = "mean"; },
           [](auto& s) { s.burst_phase = 3; }, [](auto& s) { s.lr_end = 0.5; }, [](auto& s) { s.lr_scale = 2; },
           [](auto& s) { s.update_rms = 1e-2; }}) {
    MechanisticSettings settings = small();
    change(settings);
    EXPECT_NE(record(settings, kDamped).summary.final_loss, loss);
  }
}

TEST(MechanisticRun, WithoutBurstsThereIsNoEvent) {
  MechanisticSettings settings = small();
  settings.bursts = false;
  settings.isotropic_b = true;
  for (const MechanisticStep& step : record(settings, kDamped).steps) {
    EXPECT_FALSE(step.event);
    EXPECT_LT(step.r_max, 100);
  }
}

TEST(MechanisticRun, LrScaleMultipliesTheStep) {
  MechanisticSettings settings = small();
  settings.lr_scale = 0.5;
  const auto [steps, summary] =
      record(settings, TrasMuonOptions{.lr = 8e-3, .weight_decay = 0, .rms_scale = 1, .clip = Clip::none});
  EXPECT_EQ(summary.lr, 4e-3);
  EXPECT_NEAR(summary.update_rms, 4e-3, 1e-9);
}

TEST(MechanisticRun, FitsTheUpdateRms) {
  MechanisticSettings settings = small();
  settings.kappa = 10;  // where seeds are alike
  settings.bursts = false;
  settings.update_rms = 8e-3;
  const MuonOptions muon{.lr = 0.015, .nesterov = false};
  const MechanisticSummary fitted = record(settings, muon).summary;
  EXPECT_NEAR(fitted.update_rms, 8e-3, 8e-4);  // the RMS is not quite proportional to lr
  settings.bursts = true;
  EXPECT_EQ(record(settings, muon, 5).summary.lr, fitted.lr);
  settings.lr_scale = 3;
  EXPECT_NEAR(record(settings, muon).summary.lr, 3 * fitted.lr, 1e-15);

  // The pilot is a run without bursts on the problem before seed 0's.
  settings.bursts = false;
  settings.lr_scale = 1;
  settings.update_rms = 0;
  const MechanisticSummary pilot = record(settings, muon, std::numeric_limits<std::uint64_t>::max()).summary;
  EXPECT_NEAR(fitted.lr, muon.lr * 8e-3 / pilot.update_rms, 1e-15);
}

TEST(MechanisticRun, UniformDampingIsTheMeanOnAllColumns) {
  MechanisticSettings settings = small();
  settings.damping = "mean";
  const auto uniform = record(settings, kDamped).steps, damped = record(small(), kDamped).steps;
  for (int t = 1; t <= 100; ++t) {
    EXPECT_NEAR(uniform[t].c_min, uniform[t].c_mean, 1e-15);
    EXPECT_NEAR(uniform[t].c_hit, uniform[t].c_mean, 1e-15);
    EXPECT_NEAR(uniform[t].update_rms, 8e-3 * uniform[t].c_mean, 1e-9);
  }
  // The trajectories part only after the first damped step.
  EXPECT_LT(damped[21].c_mean, 1);
  EXPECT_NEAR(uniform[20].loss / damped[20].loss, 1, 1e-12);
  EXPECT_NEAR(uniform[21].c_mean, damped[21].c_mean, 1e-12);
  EXPECT_GT(std::abs(uniform[21].loss / damped[21].loss - 1), 1e-6);
}

TEST(MechanisticRun, DampingThroughTheControlIsTheRulesOwn) {
  // A run without bursts cannot tell a blind gate from the rule itself.
  MechanisticSettings settings = small();
  settings.bursts = false;
  const MechanisticSummary own = record(settings, kDamped).summary;
  settings.damping = "blind";
  const MechanisticSummary blind = record(settings, kDamped).summary;
  EXPECT_NEAR(blind.final_loss / own.final_loss, 1, 1e-6);
  EXPECT_NEAR(blind.mean_c, own.mean_c, 1e-9);
  EXPECT_NEAR(blind.update_rms, own.update_rms, 1e-9);
}

TEST(MechanisticRun, TheLearningRateDecaysToItsEnd) {
  MechanisticSettings settings = small();
  settings.lr_end = 0.1;
  const auto steps =
      record(settings, TrasMuonOptions{.lr = 8e-3, .weight_decay = 0, .rms_scale = 1, .clip = Clip::none}).steps;
  EXPECT_NEAR(steps[1].update_rms, 8e-3, 1e-9);
  EXPECT_NEAR(steps[100].update_rms, 8e-4, 1e-9);
  EXPECT_NEAR(steps[50].update_rms + steps[51].update_rms, 8.8e-3, 1e-8);
  EXPECT_TRUE(std::isnan(record(settings, kDamped).summary.bound_ratio));
}

TEST(MechanisticRun, GatesMeetEveryBurstOrNone) {
  // c changes only at gates, so what a burst does to c shows whether it met one.
  const auto met = [](int phase) {
    MechanisticSettings settings = small();
    settings.burst_phase = phase;
    TrasMuonOptions options = kDamped;
    options.period = 2;
    options.rho = 0;  // the average follows c in every step
    int bursts = 0, changes = 0;
    const auto steps = record(settings, options).steps;
    for (int t = 30; t <= 100; ++t) {
      if (!steps[t].event) continue;
      ++bursts;
      changes += steps[t].c_hit != steps[t - 1].c_hit || steps[t].c_mean != steps[t - 1].c_mean;
    }
    EXPECT_GE(bursts, 7);
    return changes == bursts ? "all" : changes == 0 ? "none" : "some";
  };
  EXPECT_STREQ(met(0), "all");
  EXPECT_STREQ(met(5), "none");
}

TEST(MechanisticRun, TheLateLossDoesNotDependOnOneStep) {
  const auto [steps, summary] = record(small(), kDamped);
  std::vector<double> last;
  for (int t = 81; t <= 100; ++t) last.push_back(steps[t].loss);
  std::sort(last.begin(), last.end());
  EXPECT_DOUBLE_EQ(summary.final_median, (last[9] + last[10]) / 2);
}

TEST(MechanisticRun, CountsWhatLeavesItsRange) {
  // Algorithm 1 to the letter does not keep c above c_min when lr^2 is near eps.
  TrasMuonOptions paper = TrasMuonOptions::paper(), guarded{.nesterov = false, .rms_scale = 1};
  for (TrasMuonOptions* options : {&paper, &guarded}) {
    options->lr = 1e-6;
    options->weight_decay = 0;
    options->alpha = 100;
    options->trigger = 0;
    options->warmup = kDamped.warmup;
  }
  EXPECT_GT(record(small(), paper).summary.c_violations, 0);
  EXPECT_EQ(record(small(), guarded).summary.c_violations, 0);

  TrasMuonOptions uncalibrated = kDamped;  // promises no bound
  uncalibrated.calibrate = uncalibrated.row_scale = uncalibrated.orthogonalize = false;
  EXPECT_EQ(record(small(), uncalibrated).summary.bound_violations, 0);
  EXPECT_TRUE(std::isnan(record(small(), uncalibrated).summary.bound_ratio));
}

TEST(MechanisticRun, MeasuresTheStationarityTheorem) {
  const MechanisticSummary damped = record(small(), kDamped).summary;
  EXPECT_EQ(damped.misaligned_steps, 0);
  EXPECT_GT(damped.bound_ratio, 1);
  EXPECT_LT(damped.bound_ratio, 10);
  MechanisticSettings settings = small();
  settings.lr_scale = 20;
  EXPECT_GT(record(settings, kDamped).summary.misaligned_steps, 0);
  EXPECT_TRUE(std::isnan(record(settings, kDamped).summary.bound_ratio));
  EXPECT_TRUE(std::isnan(record(small(), MuonOptions{.lr = 0.01}).summary.bound_ratio));
  TrasMuonOptions decayed = kDamped;
  decayed.weight_decay = 0.1;
  EXPECT_TRUE(std::isnan(record(small(), decayed).summary.bound_ratio));
}

TEST(MechanisticRun, StopsWhenTheLossIsNotFinite) {
  const auto [steps, summary] = record(small(), TrasMuonOptions{.lr = 1e20,
                                                                .weight_decay = 0,
                                                                .clip = Clip::none,
                                                                .orthogonalize = false,
                                                                .row_scale = false,
                                                                .calibrate = false});
  EXPECT_EQ(summary.final_loss, std::numeric_limits<double>::infinity());
  EXPECT_EQ(summary.best_loss, summary.initial_loss);
  EXPECT_LT(summary.steps, 10);
  EXPECT_EQ(static_cast<std::int64_t>(steps.size()), static_cast<std::int64_t>(summary.steps) + 1);
}

TEST(MechanisticRun, RefusesWhatDoesNotFit) {
  MechanisticSettings settings = small();
  settings.burst_columns = 17;
  EXPECT_EQ(error_of(settings, kDamped), "mechanistic: burst_columns must be <= dim = 16, got 17");
  settings = small();
  settings.damping = "permuted";
  EXPECT_EQ(error_of(settings, MuonOptions{}),
            "mechanistic: damping must be columns unless the rule is trasmuon, got permuted with muon");
}

TEST(MechanisticRun, OneByOneRuns) {
  MechanisticSettings settings = small();
  settings.dim = 1;
  EXPECT_TRUE(std::isfinite(record(settings, kDamped).summary.final_loss));
}

}  // namespace
}  // namespace trasmuon::lab
