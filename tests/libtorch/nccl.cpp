// SPDX-License-Identifier: Apache-2.0
// What a program on GPUs writes; compiled by the tests, and not run without GPUs.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "trasmuon/libtorch/distributed.h"

namespace trasmuon::libtorch {

/// Steps a model over NCCL, through the backend itself or through a process group that has it.
void step_over_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int ranks, torch::nn::Module& model) {
  auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, ranks);
  DistributedOptimizer over_backend(nccl, groups_for(model, TrasMuonOptions{}), TrasMuonOptions{}, {.store = store});
  over_backend.step();
}

void step_over_group(const c10::intrusive_ptr<c10d::ProcessGroup>& group, torch::nn::Module& model) {
  DistributedOptimizer over_group(group, groups_for(model, TrasMuonOptions{}));
  over_group.step();
}

}  // namespace trasmuon::libtorch
