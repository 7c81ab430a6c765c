// SPDX-License-Identifier: Apache-2.0
#include "lab/training/parameter_groups.h"

#include <utility>

namespace trasmuon::lab {

std::vector<libtorch::OptimizerParamGroup> training_groups(const torch::nn::Module& model, const Options& method,
                                                           const TrainingSettings& settings) {
  const AdamWOptions tables{.lr = settings.other_lr, .weight_decay = settings.other_weight_decay};
  const AdamWOptions vectors{.lr = settings.other_lr, .weight_decay = 0};
  std::vector<libtorch::OptimizerParamGroup> split = libtorch::groups_for(model, method, tables), groups;
  groups.push_back(split.front());
  if (split.size() == 1) return groups;
  for (const bool is_vector : {false, true}) {
    libtorch::OptimizerParamGroup group = libtorch::group(std::vector<at::Tensor>{}, is_vector ? vectors : tables);
    for (std::size_t i = 0; i < split[1].params().size(); ++i) {
      if ((split[1].params()[i].dim() < 2) != is_vector) continue;
      group.params().push_back(split[1].params()[i]);
      libtorch::options_of(group).parameters.push_back(libtorch::options_of(split[1]).parameters[i]);
    }
    if (!group.params().empty()) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace trasmuon::lab
