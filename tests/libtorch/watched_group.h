// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "trasmuon/libtorch/process_group.h"

namespace trasmuon::libtorch {

/// A Gloo group that counts exchanges and what they send to others, and does something before one of them.
class WatchedGroup : public c10::intrusive_ptr_target {
 public:
  explicit WatchedGroup(c10::intrusive_ptr<c10d::ProcessGroupGloo> group) : gloo_(group), calls_(group) {}

  int exchanges = 0;
  std::int64_t rows_sent = 0;     ///< bytes of all-to-alls that this rank sends to others
  std::int64_t weights_sent = 0;  ///< bytes of broadcasts that come from this rank, for each receiver
  std::int64_t numbers = 0;       ///< bytes that this rank adds in all-reduces

  /// Runs `action` before the exchange that comes after `exchanges` others, counted from now.
  void before(int exchanges_left, std::function<void()> action) {
    exchanges_left_ = exchanges_left;
    action_ = std::move(action);
  }

  int getRank() const { return calls_.rank; }
  int getSize() const { return calls_.ranks; }
  detail::WorkPointer broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& options) {
    if (options.rootRank == getRank()) weights_sent += static_cast<std::int64_t>(tensors[0].nbytes()) * (getSize() - 1);
    count();
    return gloo_->broadcast(tensors, options);
  }
  detail::WorkPointer allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options) {
    numbers += static_cast<std::int64_t>(tensors[0].nbytes());
    count();
    return gloo_->allreduce(tensors, options);
  }
  detail::WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_sizes,
                                    std::vector<std::int64_t>& input_sizes, const c10d::AllToAllOptions&) {
    for (int r = 0; r < getSize(); ++r) {
      if (r != getRank()) rows_sent += input_sizes[static_cast<std::size_t>(r)];
    }
    count();
    return calls_.all_to_all(output, input, output_sizes, input_sizes);
  }

 private:
  void count() {
    ++exchanges;
    if (action_ && exchanges_left_-- == 0) std::exchange(action_, nullptr)();
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  detail::Collectives calls_;
  int exchanges_left_ = 0;
  std::function<void()> action_;
};

}  // namespace trasmuon::libtorch
