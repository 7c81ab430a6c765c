// SPDX-License-Identifier: Apache-2.0
#include "lab/training/parameter_groups.h"

#include <gtest/gtest.h>

#include "tiny_task.h"

namespace trasmuon::lab {
namespace {

TEST(TrainingGroups, GiveOnlyHiddenMatricesToTheMethod) {
  const auto task = tiny_task(1, 8);
  const TrainingSettings settings{.other_lr = 3e-4, .other_weight_decay = 0.1};
  const auto groups = training_groups(task->model(), MuonOptions{.lr = 0.02}, settings);
  ASSERT_EQ(groups.size(), 3u);
  std::vector<std::vector<std::string>> names(3);
  for (std::size_t g = 0; g < 3; ++g)
    for (const Parameter& p : libtorch::options_of(groups[g]).parameters) names[g].push_back(p.name);
  EXPECT_EQ(names[0], (std::vector<std::string>{"fc1.weight", "fc2.weight"}));
  EXPECT_EQ(names[1], (std::vector<std::string>{"embedding.weight", "head.weight"}));
  EXPECT_EQ(names[2], (std::vector<std::string>{"fc1.bias", "fc2.bias", "norm.weight", "norm.bias", "head.bias"}));
  EXPECT_EQ(libtorch::options_of(groups[0]).get_lr(), 0.02);
  for (const std::size_t g : {1, 2}) {
    const auto& options = std::get<AdamWOptions>(libtorch::options_of(groups[g]).rule);
    EXPECT_EQ(options.lr, 3e-4);
    EXPECT_EQ(options.weight_decay, g == 1 ? 0.1 : 0);
  }
}

}  // namespace
}  // namespace trasmuon::lab
