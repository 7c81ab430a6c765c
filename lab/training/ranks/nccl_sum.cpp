// SPDX-License-Identifier: Apache-2.0
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "lab/training/ranks/rank_group.h"

namespace trasmuon::lab {

std::function<void(at::Tensor)> nccl_sum(const std::filesystem::path& store, int rank, int count) {
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::FileStore>(store.string(), count),
                                                           rank, count);
  return [group](at::Tensor tensor) {
    std::vector<at::Tensor> tensors{std::move(tensor)};
    group->allreduce(tensors, c10d::AllreduceOptions())->wait();
  };
}

}  // namespace trasmuon::lab
