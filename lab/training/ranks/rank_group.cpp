// SPDX-License-Identifier: Apache-2.0
#include "lab/training/ranks/rank_group.h"

#include <c10/util/Exception.h>
#include <torch/utils.h>

#include <cstdint>
#include <exception>
#include <string>

#include "lab/training/ranks/rank_processes.h"

namespace trasmuon::lab {

RankGroup::RankGroup(const std::filesystem::path& store, int rank, int count, at::DeviceType device)
    : rank_(rank), count_(count) {
  if (count > 1) sum_ = device == at::kCUDA ? nccl_sum(store, rank, count) : gloo_sum(store, rank, count);
}

// All tensors travel as one: a single exchange, at the price of a copy of them while it runs.
void RankGroup::average(const std::vector<at::Tensor>& tensors) const {
  if (count_ == 1) return;
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.reshape(-1));
  const at::Tensor packed = at::cat(flat);
  try {
    sum_(packed);
  } catch (const c10::Error& error) {
    throw LostRank(std::string("ranks cannot reach each other: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw LostRank(std::string("ranks cannot reach each other: ") + error.what());
  }
  packed.div_(count_);
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    tensor.copy_(packed.narrow(0, offset, tensor.numel()).view_as(tensor));
    offset += tensor.numel();
  }
}

}  // namespace trasmuon::lab
