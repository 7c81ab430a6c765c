// SPDX-License-Identifier: Apache-2.0
// A valid file that was saved by another optimizer.
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/expect_refused.h"
#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

struct Mismatch {
  const char* name;
  std::function<void(std::vector<Group>&)> change;  ///< to the groups of the loading optimizer
  const char* why;
};

void PrintTo(const Mismatch& mismatch, std::ostream* out) { *out << mismatch.name; }

class CheckpointMismatch : public testing::TestWithParam<Mismatch> {};

TEST_P(CheckpointMismatch, IsRefused) {
  const TemporaryDirectory directory;
  Model saved(every_rule());
  saved.train(0, 3);
  save_checkpoint(saved.optimizer(), directory / "run");

  std::vector<Group> groups = every_rule();
  GetParam().change(groups);
  Model other(std::move(groups));
  other.train(0, 2);
  expect_refused(other, directory / "run", GetParam().why);
}

INSTANTIATE_TEST_SUITE_P(
    Of, CheckpointMismatch,
    testing::Values(Mismatch{"rule", [](auto& g) { g[1].options = MuonOptions{}; },
                             "group 1: rule must be muon, as in the optimizer, got normuon"},
                    Mismatch{"fewer_groups", [](auto& g) { g.pop_back(); },
                             "groups must be 4, as in the optimizer, got 5"},
                    Mismatch{"more_groups",
                             [](auto& g) {
                               g.push_back({AdamWOptions{}, {g[4].parameters[1]}});
                               g[4].parameters.pop_back();
                             },
                             "groups must be 6, as in the optimizer, got 5"},
                    Mismatch{"other_name", [](auto& g) { g[0].parameters[0].name = "hidden2"; },
                             "parameter 'hidden2': is missing from the file"},
                    Mismatch{"fewer_parameters", [](auto& g) { g[0].parameters.erase(g[0].parameters.begin()); },
                             "parameter 'hidden': is not in the optimizer"},
                    Mismatch{"group",
                             [](auto& g) {
                               g[1].parameters.push_back(g[0].parameters[0]);
                               g[0].parameters.erase(g[0].parameters.begin());
                             },
                             "parameter 'hidden': group must be 1, as in the optimizer, got 0"},
                    Mismatch{"shape",
                             [](auto& g) {
                               g[0].parameters[0].weight.shape = {13, 9};
                             },
                             "parameter 'hidden': shape must be [13,9], as in the optimizer, got [9,13]"},
                    Mismatch{"weight_dtype", [](auto& g) { g[4].parameters[0].weight.dtype = DType::bf16; },
                             "parameter 'bias': weight dtype must be \"bf16\", as in the optimizer, got \"f32\""},
                    Mismatch{"transposed", [](auto& g) { g[0].parameters[3].transposed = false; },
                             "parameter 'proj': transposed must be false, as in the optimizer, got true"},
                    Mismatch{"row_blocks",
                             [](auto& g) {
                               g[0].parameters[2].row_blocks = {2, 4, 6};
                             },
                             "parameter 'qkv': row_blocks must be [2,4,6], as in the optimizer, got [4,4,4]"},
                    Mismatch{"layout", [](auto& g) { g[0].parameters[1].layout = Layout::flatten; },
                             R"(parameter 'experts': layout must be "flatten", as in the optimizer, got "automatic")"}),
    [](const auto& test) { return test.param.name; });

TEST(Checkpoint, MasterWeightsMustBeInBothOrNeither) {
  const TemporaryDirectory directory;
  std::vector<std::uint16_t> memory(6);
  Parameter p{.name = "w", .weight = {memory.data(), DType::bf16, {2, 3}, 0}};
  Optimizer with({{MuonOptions{}, {p}}}, {.master_weights = true});
  Optimizer without({{MuonOptions{}, {p}}});
  save_checkpoint(with, directory / "with");
  save_checkpoint(without, directory / "without");
  EXPECT_THAT(error_of([&] { load_checkpoint(without, directory / "with"); }),
              testing::HasSubstr("tensor 'w/master': is not in the optimizer"));
  EXPECT_THAT(error_of([&] { load_checkpoint(with, directory / "without"); }),
              testing::HasSubstr("tensor 'w/master': is missing from the file"));
}

}  // namespace
}  // namespace trasmuon::test
