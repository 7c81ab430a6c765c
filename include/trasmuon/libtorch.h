// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "trasmuon/libtorch/groups.h"
#include "trasmuon/libtorch/optimizer.h"
#include "trasmuon/trasmuon.h"

// Optimizers for LibTorch 1.13 to 2.x, on the CPU and on CUDA. Header-only: compiled against the
// LibTorch of the program that includes it.
namespace trasmuon::libtorch {

/// A torch::optim::Optimizer with one rule; groups may have other rules.
///   TrasMuon(parameters, {.lr = 1e-3})          trains these tensors
///   TrasMuon(groups, {.lr = 1e-3})              trains groups, see group()
///   TrasMuon(*module, {.lr = 1e-3}, {.lr = 3e-4})   trains hidden matrices, and the rest with AdamW: groups_for()
template <class RuleOptions>
class RuleOptimizer : public Optimizer {
 public:
  explicit RuleOptimizer(std::vector<torch::Tensor> parameters, RuleOptions options = {},
                         OptimizerOptions settings = {})
      : RuleOptimizer(std::vector{OptimizerParamGroup(std::move(parameters))}, std::move(options),
                      std::move(settings)) {}

  explicit RuleOptimizer(std::vector<OptimizerParamGroup> groups, RuleOptions defaults = {},
                         OptimizerOptions settings = {})
      : Optimizer(std::move(groups), std::move(defaults), std::move(settings)) {}

  explicit RuleOptimizer(const torch::nn::Module& module, RuleOptions options = {}, AdamWOptions rest = {},
                         OptimizerOptions settings = {}) requires(!std::is_same_v<RuleOptions, AdamWOptions>)
      : RuleOptimizer(groups_for(module, options, rest), options, std::move(settings)) {}

  explicit RuleOptimizer(const torch::nn::Module& module, RuleOptions options = {},
                         OptimizerOptions settings = {}) requires std::is_same_v<RuleOptions, AdamWOptions>
      : RuleOptimizer(std::vector{group(module, options)}, options, std::move(settings)) {}
};

using TrasMuon = RuleOptimizer<TrasMuonOptions>;
using NorMuon = RuleOptimizer<NorMuonOptions>;
using Muon = RuleOptimizer<MuonOptions>;
using Dion = RuleOptimizer<DionOptions>;
using AdamW = RuleOptimizer<AdamWOptions>;

}  // namespace trasmuon::libtorch
