// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include <trasmuon/libtorch.h>

int main() {
  const torch::Tensor weight = torch::ones({8, 16}).requires_grad_();
  trasmuon::libtorch::TrasMuon optimizer({weight}, {.lr = 0.02});
  weight.square().sum().backward();
  optimizer.step();
  try {
    optimizer.param_groups()[0].options().set_lr(-1);
    optimizer.step();
  } catch (const trasmuon::Error& error) {
    std::cout << TRASMUON_VERSION << ' ' << error.what() << '\n';
    return weight.max().item<float>() < 1 ? 0 : 1;
  }
  return 1;
}
