// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

// What differs between the versions of LibTorch (1.13 to 2.x), and nothing else.
namespace trasmuon::libtorch {

/// The key of a parameter in torch::optim::Optimizer::state(): the text of the address of
/// its TensorImpl in 1.13, the address itself in 2.x.
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

}  // namespace trasmuon::libtorch
