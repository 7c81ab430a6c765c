// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "lab/training/ranks/rank_group.h"

namespace trasmuon::lab {

std::function<void(at::Tensor)> gloo_sum(const std::filesystem::path& store, int rank, int count) {
  // Ranks wait for each other while the first evaluates. A rank that dies is noticed at once.
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::hours(1));
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::FileStore>(store.string(), count),
                                                           rank, count, options);
  return [group](at::Tensor tensor) {
    std::vector<at::Tensor> tensors{std::move(tensor)};
    group->allreduce(tensors, c10d::AllreduceOptions())->wait();
  };
}

}  // namespace trasmuon::lab
