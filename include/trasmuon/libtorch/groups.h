// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trasmuon/classify.h"
#include "trasmuon/error.h"
#include "trasmuon/optimizer.h"

namespace trasmuon::libtorch {

using torch::optim::OptimizerParamGroup;

/// The options of a parameter group; group.options() refers to them.
struct GroupOptions : torch::optim::OptimizerCloneableOptions<GroupOptions> {
  explicit GroupOptions(Options options) : rule(std::move(options)) {}

  double get_lr() const override {
    return std::visit([](const auto& o) { return o.lr; }, rule);
  }
  void set_lr(const double lr) override {
    std::visit([lr](auto& o) { o.lr = lr; }, rule);
  }

  /// The rule and its fields. Changes take effect in the next step; the rule itself must not change.
  Options rule;
  /// Name and layout of each tensor, in order, read when the group is added. Tensors without a
  /// name are called "group<g>.<i>". The member `weight` is not used.
  std::vector<Parameter> parameters = {};
};

/// Returns the options of a group; throws Error if they belong to another optimizer.
inline const GroupOptions& options_of(const OptimizerParamGroup& group) {
  const auto* options = group.has_options() ? dynamic_cast<const GroupOptions*>(&group.options()) : nullptr;
  if (options == nullptr)
    throw Error("group options must be trasmuon::libtorch::GroupOptions, got another optimizer's");
  return *options;
}
inline GroupOptions& options_of(OptimizerParamGroup& group) {
  return const_cast<GroupOptions&>(options_of(std::as_const(group)));
}

/// Makes a group of tensors with one rule: group(parameters, AdamWOptions{.lr = 1e-3}).
inline OptimizerParamGroup group(std::vector<torch::Tensor> tensors, Options options) {
  return {std::move(tensors), std::make_unique<GroupOptions>(std::move(options))};
}

/// Makes a group of all parameters of a module, with their names. A tensor that occurs twice
/// (tied weights) is listed once, under its first name.
inline OptimizerParamGroup group(const torch::nn::Module& module, Options options) {
  OptimizerParamGroup group({}, std::make_unique<GroupOptions>(std::move(options)));
  std::set<const void*> seen;
  for (const auto& item : module.named_parameters()) {
    if (!seen.insert(item.value().unsafeGetTensorImpl()).second) continue;
    group.params().push_back(item.value());
    options_of(group).parameters.push_back({.name = item.key(), .weight = {}});
  }
  return group;
}

/// Makes two groups: the module's hidden matrices with the options `matrices`, and the rest
/// (embeddings, heads, norms, biases) with `rest`. classify() decides, by name and shape or by another routing.
inline std::vector<OptimizerParamGroup> groups_for(const torch::nn::Module& module, Options matrices,
                                                   AdamWOptions rest = {},
                                                   std::span<const FamilyOverride> overrides = {},
                                                   Routing routing = Routing::standard) {
  OptimizerParamGroup all = group(module, matrices);
  std::vector<NamedShape> shapes;
  for (std::size_t i = 0; i < all.params().size(); ++i) {
    const auto sizes = all.params()[i].sizes();
    shapes.push_back({options_of(all).parameters[i].name, Shape(std::span(sizes.data(), sizes.size()))});
  }
  const std::vector<Classified> table = classify(shapes, overrides, routing);

  std::vector<OptimizerParamGroup> groups{group(std::vector<torch::Tensor>{}, std::move(matrices)),
                                          group(std::vector<torch::Tensor>{}, std::move(rest))};
  for (std::size_t i = 0; i < table.size(); ++i) {
    OptimizerParamGroup& target = groups[table[i].family == Family::matrix ? 0 : 1];
    target.params().push_back(all.params()[i]);
    options_of(target).parameters.push_back({.name = table[i].name, .weight = {}});
  }
  if (groups[1].params().empty()) groups.pop_back();
  return groups;
}

/// Finds a parameter by name, to set its layout before the optimizer is built:
/// parameter_of(groups, "qkv.weight").row_blocks = equal_blocks(2304, 3).
inline Parameter& parameter_of(std::vector<OptimizerParamGroup>& groups, std::string_view name) {
  for (OptimizerParamGroup& group : groups) {
    for (Parameter& parameter : options_of(group).parameters) {
      if (parameter.name == name) return parameter;
    }
  }
  throw Error("no parameter named '" + std::string(name) + "'");
}

}  // namespace trasmuon::libtorch
