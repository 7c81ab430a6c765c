// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

// The differences between LibTorch versions (1.13 to 2.x).
namespace trasmuon::libtorch {

/// Returns the key of a parameter in torch::optim::Optimizer::state(): the address of its
/// TensorImpl, as text in 1.13 and as a pointer in 2.x.
template <
    class Key = typename std::remove_cvref_t<decltype(std::declval<torch::optim::Optimizer&>().state())>::key_type>
Key state_key(const torch::Tensor& parameter) {
  void* address = parameter.unsafeGetTensorImpl();
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << address;
    return text.str();
  } else {
    return address;
  }
}

/// Adds a group with the options it has. LibTorch 2.15 replaces options of types that it does not know by the defaults.
inline void add_group(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group) {
  optimizer.add_param_group(group);
  if (group.has_options()) optimizer.param_groups().back().set_options(group.options().clone());
}

}  // namespace trasmuon::libtorch
