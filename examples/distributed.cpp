// SPDX-License-Identifier: Apache-2.0
// Trains on N processes with Gloo, started by torchrun (of any torch 2.x) or by Open MPI (Debian: openmpi-bin):
//   torchrun --no-python --nproc_per_node 2 build/examples/distributed
//   mpirun -np 2 build/examples/distributed      (as root: --allow-run-as-root; more than cores: --oversubscribe)
// On several machines all processes need the address of the first in MASTER_ADDR; mpirun: -x MASTER_ADDR=host.
#include <torch/torch.h>
#include <trasmuon/libtorch.h>
#include <trasmuon/libtorch/distributed.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace {

/// Reads the first of two variables that is set: torchrun's, then that of Open MPI.
std::string from_environment(const char* name, const char* other, const char* otherwise) {
  for (const char* variable : {name, other}) {
    if (const char* value = std::getenv(variable)) return value;
  }
  return otherwise;
}

/// Replaces every gradient by its mean over the ranks.
void average_gradients(c10d::ProcessGroupGloo& group, const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& parameter : parameters) flat.push_back(parameter.grad().flatten());
  std::vector<torch::Tensor> packed{torch::cat(flat)};
  group.allreduce(packed)->wait();
  std::int64_t offset = 0;
  for (const torch::Tensor& parameter : parameters) {
    const torch::Tensor sum = packed[0].narrow(0, offset, parameter.numel()).view_as(parameter);
    parameter.grad().copy_(sum / group.getSize());
    offset += parameter.numel();
  }
}

}  // namespace

int main() {
  const int rank = std::stoi(from_environment("RANK", "OMPI_COMM_WORLD_RANK", "0"));
  const int ranks = std::stoi(from_environment("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "1"));
  c10d::TCPStoreOptions place;
  // torchrun serves a store of its own on MASTER_PORT, perhaps of another LibTorch; ours takes the port after it.
  place.port = static_cast<std::uint16_t>(std::stoi(from_environment("MASTER_PORT", "", "29511")) + 1);
  place.isServer = rank == 0;
  place.numWorkers = static_cast<std::size_t>(ranks);
  auto store = c10::make_intrusive<c10d::TCPStore>(from_environment("MASTER_ADDR", "", "127.0.0.1"), place);
  auto settings = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(30));
  settings->devices = {c10d::ProcessGroupGloo::createDefaultDevice()};
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, ranks, settings);

  using namespace torch::nn;
  torch::manual_seed(1);  // the same weights on all ranks
  Sequential model(Linear(2, 64), GELU(), Linear(64, 64), GELU(), Linear(64, 1));
  trasmuon::libtorch::DistributedOptimizer optimizer(
      group, trasmuon::libtorch::groups_for(*model, trasmuon::TrasMuonOptions{.lr = 0.02}, {.lr = 0.01}),
      trasmuon::TrasMuonOptions{}, {.store = store});
  torch::optim::StepLR schedule(optimizer, /*step_size=*/100, /*gamma=*/0.3);

  torch::manual_seed(static_cast<std::uint64_t>(100 + rank));  // other data on each
  const torch::Tensor x = 4 * torch::rand({512, 2}) - 2, y = (2 * x.prod(1, true)).sin();
  torch::Tensor loss;
  for (int step = 0; step <= 300; ++step) {
    optimizer.zero_grad();
    loss = torch::mse_loss(model->forward(x), y);
    loss.backward();
    average_gradients(*group, model->parameters());
    optimizer.step();
    schedule.step();
    if (step % 60 == 0 && rank == 0) std::printf("step %3d  loss %.4f\n", step, loss.item<double>());
  }
  group->barrier()->wait();  // rank 0 serves the store until all are done
  return loss.item<double>() < 0.05 ? 0 : 1;
}
