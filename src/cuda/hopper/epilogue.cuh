// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/hopper/copy.cuh"
#include "cuda/hopper/fragment.cuh"
#include "cuda/hopper/product_kernel.h"

// The end of a tile: from a warpgroup's sums to boxes in shared memory, which a separate warp stores.
namespace trasmuon::cuda {

constexpr int kStagedBoxes = kTileCols / kBoxSide;  // per warpgroup
constexpr int kSums = kTileCols / 2;                // numbers that a thread holds of 64 x kTileCols

/// What a warpgroup asks its storing thread to store.
struct StoreList {
  struct Store {
    int box, boxes;  ///< the first one, and how many side by side
    bool diagonal;   ///< store to out_diagonal instead of out
    int x, y, z;
  };
  const ProductMaps* maps;  ///< null: nothing follows
  int count;
  int signal;  ///< index of the counter to add to when all is stored, or -1
  Store stores[2 * kStagedBoxes];
};

/// The producing side of the staging memory: a warpgroup, all of whose threads call every method. One thread per warp
/// arrives at the barrier, because arrivals are processed one by one.
class Staging {
 public:
  __device__ Staging(char* boxes, StoreList* list, std::uint64_t* staged, std::uint64_t* free, int thread)
      : boxes_(boxes), list_(list), staged_(staged), free_(free), thread_(thread) {}

  __device__ void open() {
    barrier_wait(free_, phase_ ^ 1);  // returns at once the first time
    used_ = count_ = 0;
  }
  /// Returns the first of so many free boxes; if there are too few, sends what is staged and waits.
  __device__ int reserve(int boxes, const ProductMaps* maps) {
    if (used_ + boxes > kStagedBoxes) {
      send(maps, -1);
      open();
    }
    const int first = used_;
    used_ += boxes;
    return first;
  }
  __device__ char* box(int index) const { return boxes_ + index * kBoxBytes; }
  __device__ void store(int box, int boxes, bool diagonal, int x, int y, int z) {
    if (thread_ == 0) list_->stores[count_] = {box, boxes, diagonal, x, y, z};
    ++count_;
  }
  __device__ void send(const ProductMaps* maps, int signal) {
    if (thread_ == 0) {
      list_->maps = maps;
      list_->count = count_;
      list_->signal = signal;
    }
    fence_shared_for_copies();
    __syncwarp();
    if (thread_ % 32 == 0) barrier_arrive(staged_);
    phase_ ^= 1;
  }

 private:
  char* boxes_;
  StoreList* list_;
  std::uint64_t *staged_, *free_;
  int thread_;
  std::uint32_t phase_ = 0;
  int used_ = 0, count_ = 0;
};

/// The consuming side, one thread: stores until nothing follows.
__device__ inline void store_results(const char* boxes, const StoreList& list, std::uint64_t* staged,
                                     std::uint64_t* free, unsigned* counters) {
  for (std::uint32_t phase = 0;; phase ^= 1) {
    barrier_wait(staged, phase);
    const ProductMaps* maps = list.maps;
    if (maps == nullptr) return;
    for (int k = 0; k < list.count; ++k) {
      const StoreList::Store& s = list.stores[k];
      const CUtensorMap* map = s.diagonal ? &maps->out_diagonal : &maps->out;
      for (int b = 0; b < s.boxes; ++b) store_box(map, boxes + (s.box + b) * kBoxBytes, s.x + kBoxSide * b, s.y, s.z);
    }
    commit_stores();
    const int signal = list.signal;
    wait_stores_read();
    barrier_arrive(free);
    if (signal < 0) continue;
    wait_stores_done();
    fence_global_for_copies();
    add_release(&counters[signal], 1);
  }
}

/// Columns [64 c, 64 c + 64) of alpha sums.
template <class T>
__device__ __forceinline__ Fragment rounded(const float (&sums)[kSums], int c, float alpha) {
  Fragment box;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float* s = &sums[4 * (8 * c + j)];
    box.upper[j] = pack<T>(alpha * s[0], alpha * s[1]);
    box.lower[j] = pack<T>(alpha * s[2], alpha * s[3]);
  }
  return box;
}

/// The same of alpha sums + delta I, for columns that cross the diagonal.
template <class T>
__device__ __forceinline__ Fragment rounded(const float (&sums)[kSums], int c, float alpha, float delta, int thread) {
  const int to_diagonal = fragment_row(thread) - fragment_col(thread, 0);
  Fragment box;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float* s = &sums[4 * (8 * c + j)];
    const int at = to_diagonal - 8 * j;  // 0: the upper row crosses the diagonal in the first column of the pair
    box.upper[j] = pack<T>(alpha * s[0] + (at == 0 ? delta : 0), alpha * s[1] + (at == 1 ? delta : 0));
    box.lower[j] = pack<T>(alpha * s[2] + (at == -8 ? delta : 0), alpha * s[3] + (at == -7 ? delta : 0));
  }
  return box;
}

/// Off the diagonal: 64 x kTileCols as they are. Kept short, because most tiles take this path.
template <class T>
__device__ __forceinline__ void stage_plain(const ProductMaps* maps, const Tile& t, const float (&sums)[kSums],
                                            Staging& staging, int row0, int thread) {
  staging.open();
  const int box = staging.reserve(kStagedBoxes, maps);
#pragma unroll
  for (int c = 0; c < kStagedBoxes; ++c) rounded<T>(sums, c, t.alpha).write(staging.box(box + c), thread);
  staging.store(box, kStagedBoxes, false, t.col, row0, t.out);
  staging.send(maps, t.signal);
}

/// In a diagonal block: what lies on and below the diagonal, and its mirror image. So the whole block is stored, and
/// it is symmetric to the last bit: the iteration would amplify any difference.
template <class T>
__device__ __forceinline__ void stage_mirrored(const ProductMaps* maps, const Tile& t, const float (&sums)[kSums],
                                               Staging& staging, int row0, int group, int thread) {
  staging.open();
#pragma unroll
  for (int c = 0; c < kStagedBoxes; ++c) {
    const int col0 = t.col + c * kBoxSide;
    if (col0 > row0) break;
    const bool diagonal = col0 == row0;
    Fragment result;
    if (diagonal) result = rounded<T>(sums, c, t.alpha, t.delta, thread);
    else result = rounded<T>(sums, c, t.alpha);
    const int box = staging.reserve(2, maps);
    char* second = staging.box(box + 1);
    result.write_transposed(second, thread);
    if (diagonal) {
      sync_warpgroup(group);
      result.take_upper_triangle(second, thread);
    }
    result.write(staging.box(box), thread);
    staging.store(box, 1, false, col0, row0, t.out);
    if (!diagonal) staging.store(box + 1, 1, false, row0, col0, t.out);
    if (!t.write_shifted || col0 / kDiagonalBlock != row0 / kDiagonalBlock) continue;
    if (diagonal) {
      result = rounded<T>(sums, c, t.alpha, t.delta + t.shift, thread);
      result.take_upper_triangle(second, thread);
      sync_warpgroup(group);
      result.write(second, thread);
    }
    staging.store(diagonal ? box + 1 : box, 1, true, col0 % kDiagonalBlock, row0, t.out);
    if (!diagonal) staging.store(box + 1, 1, true, row0 % kDiagonalBlock, col0, t.out);
  }
  staging.send(maps, t.signal);
}

/// Stages the rows of a tile that this warpgroup has computed.
template <class T>
__device__ __forceinline__ void stage_result(const ProductMaps* maps, const Tile& t, const float (&sums)[kSums],
                                             Staging& staging, int group, int thread) {
  const int row0 = t.row + group * kBoxSide;
  if (on_diagonal(t)) stage_mirrored<T>(maps, t, sums, staging, row0, group, thread);
  else stage_plain<T>(maps, t, sums, staging, row0, thread);
}

/// Each row's sum of squares over the tile, in a fixed order, so that the bits are always the same.
__device__ __forceinline__ void write_row_squares(const Tile& t, const float (&sums)[kSums], int group, int thread) {
  const int lane = thread % 32, row = t.row + group * kBoxSide + fragment_row(thread);
  float upper = 0, lower = 0;
#pragma unroll
  for (int j = 0; j < kTileCols / 8; j += 4) {  // four at a time, to shorten the chain of dependent additions
    const float* s = &sums[4 * j];
    const auto pair = [&](int k) { return s[k] * s[k] + s[k + 1] * s[k + 1]; };
    upper += (pair(0) + pair(4)) + (pair(8) + pair(12));
    lower += (pair(2) + pair(6)) + (pair(10) + pair(14));
  }
  for (int d = 1; d < 4; d *= 2) {
    upper += __shfl_xor_sync(~0u, upper, d);
    lower += __shfl_xor_sync(~0u, lower, d);
  }
  const float scale = t.alpha * t.alpha;
  if (lane % 4 == 0 && row < t.rows) t.row_squares[row] = scale * upper;
  if (lane % 4 == 0 && row + 8 < t.rows) t.row_squares[row + 8] = scale * lower;
}

}  // namespace trasmuon::cuda
