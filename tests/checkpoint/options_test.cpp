// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "checkpoint/expect_refused.h"
#include "checkpoint/file_image.h"
#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

/// Saves under `saved`, loads into an optimizer that has `current`.
std::string through_a_file(const Options& saved, const Options& current) {
  const TemporaryDirectory directory;
  std::vector<Group> groups = tiny();
  groups.pop_back();
  groups[0].options = saved;
  const Model from(groups);
  save_checkpoint(from.optimizer(), directory / "a");
  groups[0].options = current;
  Model to(groups);
  load_checkpoint(to.optimizer(), directory / "a");
  return to.snapshot().options[0];
}

TEST(CheckpointOptions, EveryFieldOfEveryRuleIsRestored) {
  const std::vector<Options> unusual{
      TrasMuonOptions{.lr = 0.1 + 0.2,
                      .weight_decay = 1.0 / 3,
                      .beta1 = 0.11,
                      .beta2 = 0.12,
                      .eps = 1.5e-30,
                      .nesterov = false,
                      .ns_steps = 7,
                      .coefficients = "you",
                      .ns_form = NewtonSchulzForm::gram,
                      .rms_scale = 0.3,
                      .clip = Clip::hard,
                      .alpha = 3,
                      .c_min = 0.3,
                      .beta_energy = 0.13,
                      .beta_clip = 0.14,
                      .trigger = 5,
                      .period = 3,
                      .warmup = 17,
                      .rho = 0.15,
                      .gamma = 0.25,
                      .beta_gamma = 0.16,
                      .gamma_low = 0.17,
                      .gamma_high = 18,
                      .energy_of = EnergyOf::gradient,
                      .reference_start = ReferenceStart::zero,
                      .quantile = 0.75,
                      .quantile_rule = QuantileRule::nearest,
                      .gate_first_step = true,
                      .average_warmup = false,
                      .orthogonalize = false,
                      .row_scale = false,
                      .calibrate = false,
                      .eps_energy = 1e-20,
                      .eps_reference = 1e-21,
                      .eps_average = 1e-22,
                      .average_start = AverageStart::zero,
                      .clamp_damping = false,
                      .min_damped_dim = 3,
                      .damped_dim = DampedDim::columns,
                      .input_eps = InputEps::once,
                      .row_eps = RowEps::outside,
                      .eps_calibration = 1e-19,
                      .skip_nonfinite = false},
      NorMuonOptions{.lr = 1.0 / 7,
                     .weight_decay = 0.5,
                     .beta1 = 0.1,
                     .beta2 = 0.2,
                     .eps = 1e-3,
                     .nesterov = true,
                     .ns_steps = 9,
                     .coefficients = "polar_express",
                     .ns_form = NewtonSchulzForm::standard,
                     .scaling = NorMuonScaling::code,
                     .rms_scale = 0.3},
      MuonOptions{.lr = 1e-9,
                  .weight_decay = 0.25,
                  .momentum = 0.5,
                  .nesterov = false,
                  .ns_steps = 0,
                  .coefficients = "you",
                  .ns_form = NewtonSchulzForm::gram,
                  .eps = 1e-5,
                  .scaling = MuonScaling::match_rms_adamw},
      DionOptions{.lr = 0.5, .weight_decay = 0.125, .momentum = 0.75, .seed = -2147483647},
      AdamWOptions{.lr = 3e-4, .weight_decay = 0.3, .beta1 = 0.8, .beta2 = 0.7, .eps = 1e-6},
  };
  for (const Options& options : unusual) {
    const Options defaults = options_for(rule_name(options));
    EXPECT_EQ(through_a_file(options, defaults), describe(options));
    EXPECT_EQ(through_a_file(defaults, options), describe(defaults));
  }
}

// Fields are set one after the other; no intermediate state may be refused.
TEST(CheckpointOptions, LimitsOnTwoFieldsApplyToTheResultOnly) {
  const TrasMuonOptions large_rate{.lr = 900, .weight_decay = 1e-3};
  const TrasMuonOptions large_decay{.lr = 1e-5, .weight_decay = 1e4};
  const TrasMuonOptions hard{.clip = Clip::hard, .trigger = 2};
  const TrasMuonOptions continuous{.clip = Clip::soft, .trigger = 0};
  for (const TrasMuonOptions& a : {large_rate, large_decay, hard, continuous}) {
    for (const TrasMuonOptions& b : {large_rate, large_decay, hard, continuous}) {
      EXPECT_EQ(through_a_file(a, b), describe(a));
    }
  }
}

class EditedGroups : public testing::Test {
 protected:
  EditedGroups() : model_(tiny()) {
    save_checkpoint(model_.optimizer(), path_);
    image_ = FileImage::parse(read_file(path_));
    groups_ = image_.part("trasmuon_groups");
  }

  void write() {
    image_.set_part("trasmuon_groups", groups_);
    write_file(path_, image_.sealed());
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run";
  Model model_;
  FileImage image_;
  nlohmann::json groups_;
};

TEST_F(EditedGroups, AFieldTheFileLacksKeepsItsValue) {
  model_.optimizer().set(0, "rho", 0.25);
  model_.optimizer().set(0, "lr", 0.5);
  groups_[0]["fields"].erase("rho");
  write();
  load_checkpoint(model_.optimizer(), path_);
  EXPECT_EQ(get_field(model_.optimizer().options(0), "rho"), "0.25");
  EXPECT_EQ(get_field(model_.optimizer().options(0), "lr"), "0.001");
}

TEST_F(EditedGroups, AnUnknownFieldIsRefused) {
  groups_[1]["fields"]["momentum_of_tomorrow"] = "1";
  write();
  expect_refused(model_, path_, "group 1: adamw: has no field 'momentum_of_tomorrow'");
}

TEST_F(EditedGroups, AValueOutOfRangeIsRefused) {
  groups_[0]["fields"]["alpha"] = "-1";
  write();
  expect_refused(model_, path_, "group 0: trasmuon: alpha must be > 0, got -1");
}

TEST_F(EditedGroups, AValueOfAnotherTypeIsRefused) {
  groups_[1]["fields"]["lr"] = "fast";
  write();
  expect_refused(model_, path_, "group 1: adamw: lr must be a number, got 'fast'");
  groups_[1]["fields"]["lr"] = 0.5;
  write();
  expect_refused(model_, path_, "metadata 'trasmuon_groups' is malformed");
}

TEST_F(EditedGroups, TwoFieldsThatContradictAreRefused) {
  groups_[1]["fields"]["lr"] = "20";
  groups_[1]["fields"]["weight_decay"] = "0.1";
  write();
  expect_refused(model_, path_, "group 1: adamw: lr * weight_decay must be <= 1, got 2");
}

// The rank may come out the same, so the tensors' shapes do not tell; groups set before
// this one must get their options back.
TEST(CheckpointOptions, DionsRankFractionMustStay) {
  const TemporaryDirectory directory;
  std::vector<Group> groups = tiny();
  Parameter second = groups[0].parameters[0];
  second.name = "v";
  groups.push_back({DionOptions{.rank_fraction = 0.9}, {second}});
  const Model saved(groups);
  save_checkpoint(saved.optimizer(), directory / "a");
  groups[0].options = TrasMuonOptions{.lr = 0.125};
  groups[2].options = DionOptions{.rank_fraction = 1.0};
  Model other(groups);
  expect_refused(other, directory / "a", "group 2: dion's rank_fraction cannot change");
}

}  // namespace
}  // namespace trasmuon::test
