// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

// c10d's group, and the call that LibTorch versions name differently.
namespace trasmuon::libtorch::detail {

/// Exchanges bytes between all ranks: alltoall_base up to 2.14, all_to_all_single after it.
template <class Group>
c10::intrusive_ptr<c10d::Work> all_to_all_bytes(Group& group, torch::Tensor& output, torch::Tensor& input,
                                                std::vector<std::int64_t>& output_sizes,
                                                std::vector<std::int64_t>& input_sizes) {
  if constexpr (requires { group.all_to_all_single(output, input, output_sizes, input_sizes); }) {
    return group.all_to_all_single(output, input, output_sizes, input_sizes);
  } else {
    return group.alltoall_base(output, input, output_sizes, input_sizes);
  }
}

}  // namespace trasmuon::libtorch::detail
