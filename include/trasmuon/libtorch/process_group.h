// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "trasmuon/error.h"

namespace trasmuon::libtorch::detail {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

/// The calls of c10d that we need, each begins an exchange. Made from any class that has them: c10d::ProcessGroup, and
/// the backends (ProcessGroupGloo, ProcessGroupNCCL), which are process groups in LibTorch 1.13 but not in 2.x.
struct Collectives {
  int rank = 0;
  int ranks = 1;
  std::function<WorkPointer(torch::Tensor, int from)> broadcast;
  std::function<WorkPointer(torch::Tensor)> all_reduce;
  /// Output, input, and how many of their elements come from and go to each rank.
  std::function<WorkPointer(torch::Tensor, torch::Tensor, std::vector<std::int64_t>, std::vector<std::int64_t>)>
      all_to_all;

  template <class Group>
  explicit Collectives(const c10::intrusive_ptr<Group>& group) {
    if (!group) throw Error("distributed: group must not be null");
    rank = group->getRank();
    ranks = group->getSize();
    broadcast = [group](torch::Tensor tensor, int from) {
      c10d::BroadcastOptions options;
      options.rootRank = from;
      std::vector<at::Tensor> tensors{std::move(tensor)};
      return group->broadcast(tensors, options);
    };
    all_reduce = [group](torch::Tensor tensor) {
      std::vector<at::Tensor> tensors{std::move(tensor)};
      return group->allreduce(tensors, c10d::AllreduceOptions());
    };
    all_to_all = [group](torch::Tensor output, torch::Tensor input, std::vector<std::int64_t> output_sizes,
                         std::vector<std::int64_t> input_sizes) {
      const c10d::AllToAllOptions options;
      // alltoall_base up to 2.14, all_to_all_single after it.
      if constexpr (requires { group->all_to_all_single(output, input, output_sizes, input_sizes, options); }) {
        return group->all_to_all_single(output, input, output_sizes, input_sizes, options);
      } else {
        return group->alltoall_base(output, input, output_sizes, input_sizes, options);
      }
    };
  }
};

}  // namespace trasmuon::libtorch::detail
