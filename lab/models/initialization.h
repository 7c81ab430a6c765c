// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <string>

namespace trasmuon::lab {

/// Fills the parameters of a module on the CPU, in the order of their registration: norms with 1, biases with 0,
/// everything else from a normal distribution whose standard deviation `deviation_of` tells by the parameter's name.
/// The same seed gives the same bits, whatever else uses LibTorch's generators.
void initialize(torch::nn::Module& module, std::uint64_t seed,
                const std::function<double(const std::string& name)>& deviation_of);

}  // namespace trasmuon::lab
