// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/step.h"
#include "cpu/thread_pool.h"
#include "trasmuon/threads.h"

namespace trasmuon::cpu {

struct MatrixSize {
  std::int64_t m = 0, n = 0;
};

/// Works on lists of matrices: one matrix per thread where that keeps all threads busy, for then no thread waits for
/// another within a matrix. Otherwise all threads share one matrix after the other. Owns a workspace for each matrix
/// that is worked on at the same time.
class Lanes {
 public:
  /// Takes the memory for `count` matrices: size(i) and bytes(i) are those of matrix i.
  template <class Size, class Bytes>
  void prepare(std::size_t count, Size&& size, Bytes&& bytes) {
    const Schedule schedule = schedule_of(count, size);
    if (workspaces_.size() < schedule.lanes) workspaces_.resize(schedule.lanes);
    one_per_thread_.reserve(count);
    WorkspaceBytes shared, alone;
    for (std::size_t i = 0; i < count; ++i) (schedule.shares(size(i)) ? shared : alone).include(bytes(i));
    workspaces_[0].reserve(shared);
    for (std::size_t lane = 0; lane < schedule.lanes; ++lane) workspaces_[lane].reserve(alone);
  }

  /// Calls body(i, workspace) for each of `count` matrices. Allocates nothing after prepare().
  template <class Size, class Body>
  void run(std::size_t count, Size&& size, Body&& body) {
    const Schedule schedule = schedule_of(count, size);
    one_per_thread_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (schedule.shares(size(i))) body(i, workspaces_[0]);
      else one_per_thread_.push_back(i);
    }
    // Most expensive first, so that the threads finish together.
    std::sort(one_per_thread_.begin(), one_per_thread_.end(), [&](std::size_t a, std::size_t b) {
      const double x = cost(size(a)), y = cost(size(b));
      return x != y ? x > y : a < b;
    });
    std::atomic<std::size_t> next = 0;
    // The number of threads may have changed since prepare().
    parallel_for(std::min(std::ssize(workspaces_), static_cast<std::ptrdiff_t>(schedule.lanes)),
                 [&](std::int64_t lane) {
                   for (std::size_t i = next++; i < one_per_thread_.size(); i = next++)
                     body(one_per_thread_[i], workspaces_[static_cast<std::size_t>(lane)]);
                 });
  }

  Workspace& first() { return workspaces_[0]; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Workspace& workspace : workspaces_) sum += workspace.bytes();
    return sum;
  }

 private:
  // Up to this many elements a matrix is too small to occupy several threads.
  static constexpr std::int64_t kSmall = std::int64_t{256} * 256;
  // Matrices stepped at the same time, each with its own workspace: this bounds the scratch memory.
  static constexpr int kMostAtOnce = 4;

  static bool is_large(const MatrixSize& x) { return x.m * x.n > kSmall; }
  static double cost(const MatrixSize& x) {
    return static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(std::min(x.m, x.n));
  }

  /// Which matrices all threads share, and in how many lanes the others are stepped, each lane with a workspace.
  struct Schedule {
    bool share_large;
    std::size_t lanes;
    bool shares(const MatrixSize& x) const { return share_large && is_large(x); }
  };
  template <class Size>
  Schedule schedule_of(std::size_t count, Size&& size) const {
    const int threads = num_threads();
    std::size_t large = 0;
    for (std::size_t i = 0; i < count; ++i) large += is_large(size(i));
    const bool share = threads > kMostAtOnce || large < static_cast<std::size_t>(threads);
    const std::size_t alone = count - (share ? large : 0);
    return {share, std::clamp<std::size_t>(alone, 1, static_cast<std::size_t>(threads))};
  }

  std::vector<Workspace> workspaces_{1};     ///< one per lane
  std::vector<std::size_t> one_per_thread_;  ///< of the list that is run; kept for its capacity
};

}  // namespace trasmuon::cpu
