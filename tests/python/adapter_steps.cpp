// SPDX-License-Identifier: Apache-2.0
//
//   adapter_steps RULE FILE    200 steps of the LibTorch adapter; the weights after them as raw f32
//
// test_parity.py does the same steps in Python and compares the bits.
#include <torch/torch.h>
#include <trasmuon/libtorch.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <vector>

namespace {

/// Numbers in [-0.5, 0.5) that are exact in f32, the same in test_parity.py.
torch::Tensor numbers(at::IntArrayRef shape, std::int64_t seed) {
  torch::Tensor tensor = torch::empty(shape);
  auto* values = tensor.data_ptr<float>();
  std::uint64_t x = static_cast<std::uint64_t>(seed) * 7919 + 1;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    x = (x * 25214903917 + 11) & 0xffffffffffff;
    values[i] = static_cast<float>(x >> 32) / 65536.0f - 0.5f;
  }
  return tensor;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: adapter_steps RULE FILE\n";
    return 2;
  }
  using namespace trasmuon;
  const std::vector<std::vector<std::int64_t>> shapes{{24, 16}, {16, 40}, {3, 8, 12}, {8, 4, 3, 3}, {48, 16}, {16, 32}};
  std::vector<torch::Tensor> tensors;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    tensors.push_back(numbers(shapes[i], static_cast<std::int64_t>(i)).requires_grad_());
  }
  const torch::Tensor bias = numbers({24}, 99).requires_grad_();
  std::vector<libtorch::OptimizerParamGroup> groups{libtorch::group(tensors, options_for(argv[1])),
                                                    libtorch::group({bias}, AdamWOptions{.lr = 1e-3})};
  auto& parameters = libtorch::options_of(groups[0]).parameters;
  parameters.resize(tensors.size());
  if (std::string(argv[1]) != "adamw") {
    parameters[4].row_blocks = {16, 16, 16};
    parameters[5].transposed = true;
  }
  libtorch::Optimizer optimizer(groups);
  tensors.push_back(bias);
  for (int t = 0; t < 200; ++t) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].mutable_grad() = numbers(tensors[i].sizes(), 1000 * (t + 1) + static_cast<std::int64_t>(i));
    }
    optimizer.param_groups()[0].options().set_lr(0.01 * (1 - t / 400.0));
    optimizer.step();
  }
  std::ofstream file(argv[2], std::ios::binary);
  for (const torch::Tensor& tensor : tensors) {
    file.write(static_cast<const char*>(tensor.data_ptr()), tensor.numel() * static_cast<std::int64_t>(sizeof(float)));
  }
  return file.good() ? 0 : 1;
}
