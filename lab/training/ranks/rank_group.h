// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <functional>
#include <vector>

namespace trasmuon::lab {

/// One of the processes that train a model together, and its connection to the others: NCCL on GPUs, Gloo on CPUs.
class RankGroup {
 public:
  RankGroup() = default;  ///< a rank that is alone: nothing travels

  /// Meets the other ranks at `store`, a file that none of them has written yet. All are on this machine. Throws Error
  /// if this build lacks Gloo or NCCL.
  RankGroup(const std::filesystem::path& store, int rank, int count, at::DeviceType device);

  int rank() const { return rank_; }
  int count() const { return count_; }

  /// Replaces each tensor by its mean over the ranks; all are f32 and on one device. Every rank must call it, with
  /// tensors of the same shapes, and gets the same bits. Throws LostRank if another rank has ended.
  void average(const std::vector<at::Tensor>& tensors) const;

 private:
  int rank_ = 0, count_ = 1;
  std::function<void(at::Tensor)> sum_;
};

/// Returns a function that replaces a tensor by its sum over the ranks.
std::function<void(at::Tensor)> gloo_sum(const std::filesystem::path& store, int rank, int count);
std::function<void(at::Tensor)> nccl_sum(const std::filesystem::path& store, int rank, int count);

}  // namespace trasmuon::lab
