// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <trasmuon/libtorch.h>

#include <cstdio>

int main() {
  using namespace torch::nn;
  torch::manual_seed(1);
  Sequential model(Linear(2, 64), GELU(), Linear(64, 64), GELU(), Linear(64, 1));
  // Hidden matrices take TrasMuon, the other parameters AdamW.
  trasmuon::libtorch::TrasMuon optimizer(*model, {.lr = 0.02}, {.lr = 0.01});
  torch::optim::StepLR schedule(optimizer, /*step_size=*/100, /*gamma=*/0.3);

  const torch::Tensor x = 4 * torch::rand({512, 2}) - 2, y = (2 * x.prod(1, true)).sin();
  torch::Tensor loss;
  for (int step = 0; step <= 300; ++step) {
    optimizer.zero_grad();
    loss = torch::mse_loss(model->forward(x), y);
    loss.backward();
    optimizer.step();
    schedule.step();
    if (step % 60 == 0) std::printf("step %3d  loss %.4f\n", step, loss.item<double>());
  }
  return loss.item<double>() < 0.02 ? 0 : 1;
}
