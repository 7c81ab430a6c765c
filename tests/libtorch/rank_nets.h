// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libtorch/net.h"
#include "libtorch/rank_processes.h"
#include "support/error_of.h"
#include "trasmuon/libtorch/distributed.h"

namespace trasmuon::libtorch {

using test::error_of;

/// One net per rule, so that one optimizer tries all rules in the same exchanges.
struct Nets {
  explicit Nets(torch::ScalarType type, const std::vector<Options>& rules = all_rules()) {
    for (const Options& rule : rules) {
      nets.push_back(std::make_unique<Net>(type));
      for (OptimizerParamGroup& group : groups_for(*nets.back(), rule)) {
        for (std::size_t i = 0; i < group.params().size(); ++i) {
          Parameter& parameter = options_of(group).parameters[i];
          parameter.name = std::string(rule_name(rule)) + "." + parameter.name;
          names.push_back(parameter.name);
          tensors.push_back(group.params()[i]);
        }
        groups.push_back(group);
      }
    }
  }

  void backward() {
    for (const auto& net : nets) net->backward();
  }

  std::vector<std::unique_ptr<Net>> nets;
  std::vector<OptimizerParamGroup> groups;
  std::vector<torch::Tensor> tensors;  // in the order of the groups
  std::vector<std::string> names;
};

/// The first row of rank r when `rows` are cut over `ranks` as FSDP2 does: 10 over 4 are 3, 3, 3, 1; 9 are 3, 3, 3, 0.
inline std::int64_t first_row(std::int64_t rows, int r, int ranks) {
  return std::min<std::int64_t>(rows, r * ((rows + ranks - 1) / ranks));
}

/// The rows of `tensor` that a rank holds. Scalars are not cut.
inline torch::Tensor rows_of(const torch::Tensor& tensor, const Rank& self) {
  if (tensor.dim() == 0) return tensor.detach().clone();
  const std::int64_t first = first_row(tensor.size(0), self.rank, self.ranks);
  return tensor.detach().narrow(0, first, first_row(tensor.size(0), self.rank + 1, self.ranks) - first).clone();
}

/// Replaces the tensors of groups by the rows that a rank holds, and returns these.
inline std::vector<torch::Tensor> cut_rows(std::vector<OptimizerParamGroup>& groups, const Rank& self) {
  std::vector<torch::Tensor> here;
  for (OptimizerParamGroup& group : groups) {
    options_of(group).parameters.resize(group.params().size());
    for (std::size_t i = 0; i < group.params().size(); ++i) {
      torch::Tensor& tensor = group.params()[i];
      if (tensor.dim() > 0) {
        const std::int64_t rows = tensor.size(0);
        options_of(group).parameters[i].shard = RowShard{first_row(rows, self.rank, self.ranks), rows};
      }
      tensor = rows_of(tensor, self);
      here.push_back(tensor);
    }
  }
  return here;
}

/// Gives each rank's rows their rows of the whole gradients.
inline void cut_gradients(const std::vector<torch::Tensor>& whole, std::vector<torch::Tensor>& here, const Rank& self) {
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const torch::Tensor gradient = whole[i].grad();
    here[i].mutable_grad() = gradient.defined() ? rows_of(gradient, self) : torch::Tensor();
  }
}

/// All state tensors of an optimizer.
inline std::vector<torch::Tensor> state_of(torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> list;
  for (const auto& [key, item] : optimizer.state()) {
    for (const auto& [name, tensor] : static_cast<const ParamState&>(*item).tensors) list.push_back(tensor);
  }
  return list;
}

}  // namespace trasmuon::libtorch
