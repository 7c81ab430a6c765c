// SPDX-License-Identifier: Apache-2.0
#include "lab/models/initialization.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

namespace trasmuon::lab {

void initialize(torch::nn::Module& module, std::uint64_t seed,
                const std::function<double(const std::string& name)>& deviation_of) {
  at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (auto& item : module.named_parameters()) {
    const std::string& name = item.key();
    if (name.ends_with("bias")) {
      item.value().zero_();
    } else if (name.ends_with("norm.weight")) {
      item.value().fill_(1);
    } else {
      item.value().normal_(0, deviation_of(name), generator);
    }
  }
}

}  // namespace trasmuon::lab
