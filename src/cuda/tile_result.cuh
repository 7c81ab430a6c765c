// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/fragment.cuh"
#include "cuda/products_sm90.h"

// From a warpgroup's sums to 64 x 64 boxes in shared memory, which a warp of its own stores.
namespace trasmuon::cuda {

constexpr int kBox = kBoxBytes;
constexpr int kStagedBoxes = 4;  // of a warpgroup at a time

/// What a warpgroup hands to its storing thread.
struct StoreList {
  struct Store {
    int box, boxes;  ///< the first, and how many side by side
    bool diagonal;   ///< goes to out_diagonal instead of out
    int x, y, z;
  };
  const ProductMaps* maps;  ///< null: there is nothing more
  int count;
  int signal;  ///< counter to add to when all is stored, or -1
  Store stores[2 * kStagedBoxes];
};

/// A warpgroup's end of the staging memory. All its threads call everything. One thread of a warp
/// arrives for all: arrivals at a barrier go one by one.
class Staging {
 public:
  __device__ Staging(char* boxes, StoreList* list, std::uint64_t* staged, std::uint64_t* free, int thread)
      : boxes_(boxes), list_(list), staged_(staged), free_(free), thread_(thread) {}

  __device__ void open() {
    barrier_wait(free_, phase_ ^ 1);  // the first time it is free
    used_ = count_ = 0;
  }
  /// Room for as many boxes, sending off what is there if it takes that.
  __device__ int reserve(int boxes, const ProductMaps* maps) {
    if (used_ + boxes > kStagedBoxes) {
      send(maps, -1);
      open();
    }
    const int first = used_;
    used_ += boxes;
    return first;
  }
  __device__ char* box(int index) const { return boxes_ + index * kBox; }
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

/// The storing thread's end: returns when there is nothing more.
__device__ inline void store_results(const char* boxes, const StoreList& list, std::uint64_t* staged,
                                     std::uint64_t* free, unsigned* counters) {
  for (std::uint32_t phase = 0;; phase ^= 1) {
    barrier_wait(staged, phase);
    const ProductMaps* maps = list.maps;
    if (maps == nullptr) return;
    for (int k = 0; k < list.count; ++k) {
      const StoreList::Store& s = list.stores[k];
      const CUtensorMap* map = s.diagonal ? &maps->out_diagonal : &maps->out;
      for (int b = 0; b < s.boxes; ++b) store_box(map, boxes + (s.box + b) * kBox, s.x + 64 * b, s.y, s.z);
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

/// Columns 64 c to 64 c + 63 of alpha sums.
template <class T>
__device__ __forceinline__ Fragment rounded(const float (&sums)[128], int c, float alpha) {
  Fragment box;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float* s = &sums[4 * (8 * c + j)];
    box.upper[j] = pack<T>(alpha * s[0], alpha * s[1]);
    box.lower[j] = pack<T>(alpha * s[2], alpha * s[3]);
  }
  return box;
}

/// Columns 64 c to 64 c + 63 of alpha sums + delta I, where they lie on the diagonal.
template <class T>
__device__ __forceinline__ Fragment rounded(const float (&sums)[128], int c, float alpha, float delta, int thread) {
  const int to_diagonal = fragment_row(thread) - fragment_col(thread, 0);
  Fragment box;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float* s = &sums[4 * (8 * c + j)];
    const int at = to_diagonal - 8 * j;  // 0: the first column of the pair is on the diagonal of the upper row
    box.upper[j] = pack<T>(alpha * s[0] + (at == 0 ? delta : 0), alpha * s[1] + (at == 1 ? delta : 0));
    box.lower[j] = pack<T>(alpha * s[2] + (at == -8 ? delta : 0), alpha * s[3] + (at == -7 ? delta : 0));
  }
  return box;
}

/// Off the diagonal: 64 x 256 as they are. Kept short and straight, it is what most tiles wait for.
template <class T>
__device__ __forceinline__ void stage_plain(const ProductMaps* maps, const Tile& t, const float (&sums)[128],
                                            Staging& staging, int row0, int thread) {
  staging.open();
  const int box = staging.reserve(4, maps);
#pragma unroll
  for (int c = 0; c < 4; ++c) rounded<T>(sums, c, t.alpha).write(staging.box(box + c), thread);
  staging.store(box, 4, false, t.col, row0, t.out);
  staging.send(maps, t.signal);
}

/// In a block on the diagonal: what lies on and below it, and its mirror image. Such a block is whole, and
/// symmetric to the last bit, for the iteration amplifies what is not.
template <class T>
__device__ __forceinline__ void stage_mirrored(const ProductMaps* maps, const Tile& t, const float (&sums)[128],
                                               Staging& staging, int row0, int group, int thread) {
  staging.open();
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col0 = t.col + c * 64;
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
    if (!t.write_shifted || col0 / 128 != row0 / 128) continue;
    if (diagonal) {
      result = rounded<T>(sums, c, t.alpha, t.delta + t.shift, thread);
      result.take_upper_triangle(second, thread);
      sync_warpgroup(group);
      result.write(second, thread);
    }
    staging.store(diagonal ? box + 1 : box, 1, true, col0 % 128, row0, t.out);
    if (!diagonal) staging.store(box + 1, 1, true, row0 % 128, col0, t.out);
  }
  staging.send(maps, t.signal);
}

/// Stages the warpgroup's rows of a tile.
template <class T>
__device__ __forceinline__ void stage_result(const ProductMaps* maps, const Tile& t, const float (&sums)[128],
                                             Staging& staging, int group, int thread) {
  const int row0 = t.row + group * 64;
  if (on_diagonal(t)) stage_mirrored<T>(maps, t, sums, staging, row0, group, thread);
  else stage_plain<T>(maps, t, sums, staging, row0, thread);
}

/// Each row's sum of squares over the tile. In a fixed order: the same bits every time.
__device__ __forceinline__ void write_row_squares(const Tile& t, const float (&sums)[128], int group, int thread) {
  const int lane = thread % 32, row = t.row + group * 64 + fragment_row(thread);
  float upper = 0, lower = 0;
#pragma unroll
  for (int j = 0; j < 32; j += 4) {  // four at a time: a single chain of sums would be one long wait
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
