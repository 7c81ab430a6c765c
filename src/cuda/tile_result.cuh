// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/hopper.cuh"
#include "cuda/products_sm90.h"

// From a warpgroup's sums to 64 x 64 boxes in shared memory, which a warp of its own stores.
namespace trasmuon::cuda {

constexpr int kBox = 64 * 64 * 2;  // bytes
constexpr int kStagedBoxes = 4;    // of a warpgroup at a time

/// What a warpgroup hands to its storing thread.
struct StoreList {
  struct Store {
    int box;
    bool diagonal;  ///< goes to out_diagonal instead of out
    int x, y, z;
  };
  const ProductMaps* maps;  ///< null: there is nothing more
  int count;
  int signal;  ///< counter to add to when all is stored, or -1
  Store stores[2 * kStagedBoxes];
};

/// A warpgroup's end of the staging memory. All its threads call everything.
class Staging {
 public:
  __device__ Staging(char* boxes, StoreList* list, std::uint64_t* staged, std::uint64_t* free, bool leader)
      : boxes_(boxes), list_(list), staged_(staged), free_(free), leader_(leader) {}

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
  __device__ void store(int box, bool diagonal, int x, int y, int z) {
    if (leader_) list_->stores[count_] = {box, diagonal, x, y, z};
    ++count_;
  }
  __device__ void send(const ProductMaps* maps, int signal) {
    if (leader_) {
      list_->maps = maps;
      list_->count = count_;
      list_->signal = signal;
    }
    fence_shared_for_copies();
    barrier_arrive(staged_);
    phase_ ^= 1;
  }

 private:
  char* boxes_;
  StoreList* list_;
  std::uint64_t *staged_, *free_;
  bool leader_;
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
      store_box(s.diagonal ? &maps->out_diagonal : &maps->out, boxes + s.box * kBox, s.x, s.y, s.z);
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

/// Line and 16-byte piece of a 64 x 64 box, swizzled as the bulk copies expect.
__device__ __forceinline__ int swizzled(int line, int piece) { return line * 128 + ((piece ^ (line % 8)) * 16); }

/// One 64 x 64 box of the result in a warpgroup's registers: lane l of warp w has rows
/// 16 w + l / 4 (upper) and 8 more (lower), columns 8 j + 2 (l % 4) and the next.
struct Box {
  std::uint32_t upper[8], lower[8];

  __device__ __forceinline__ void write(char* to, int warp, int lane) const {
    const int line = warp * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
    for (int j = 0; j < 8; j += 2)
      store_matrix4(to + swizzled(line, j + lane / 16), upper[j], lower[j], upper[j + 1], lower[j + 1]);
  }
  __device__ __forceinline__ void write_transposed(char* to, int warp, int lane) const {
    const int piece = warp * 2 + lane / 8 % 2;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const int line = (j + lane / 16) * 8 + lane % 8;
      store_matrix4_transposed(to + swizzled(line, piece), upper[j], lower[j], upper[j + 1], lower[j + 1]);
    }
  }
  /// Takes what lies above the diagonal from the transposed box.
  __device__ __forceinline__ void take_upper_triangle(const char* transposed, int warp, int lane) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = warp * 16 + lane / 4 + 8 * half, col = 8 * j + 2 * (lane % 4);
        const auto other = *reinterpret_cast<const std::uint32_t*>(transposed + swizzled(row, j) + 4 * (lane % 4));
        std::uint32_t& own = half != 0 ? lower[j] : upper[j];
        if (col > row) own = other;
        else if (col + 1 > row) own = __byte_perm(own, other, 0x7610);
      }
    }
  }
};

/// alpha sums + on_diagonal I, columns 64 c to 64 c + 63 of the warpgroup's part.
template <class T>
__device__ __forceinline__ Box rounded(const float (&sums)[128], int c, float alpha, float on_diagonal,
                                       int to_diagonal) {
  Box box;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float* s = &sums[4 * (8 * c + j)];
    const int at = to_diagonal - 8 * j;  // 0: the first column of the pair is on the diagonal of the upper row
    box.upper[j] = pack<T>(alpha * s[0] + (at == 0 ? on_diagonal : 0), alpha * s[1] + (at == 1 ? on_diagonal : 0));
    box.lower[j] = pack<T>(alpha * s[2] + (at == -8 ? on_diagonal : 0), alpha * s[3] + (at == -7 ? on_diagonal : 0));
  }
  return box;
}

/// Stages the warpgroup's rows of a tile. Of a symmetric result only what lies on and below the
/// diagonal of 256 x 256 blocks is kept; these blocks are whole, and symmetric to the last bit,
/// for the iteration amplifies what is not.
template <class T>
__device__ __forceinline__ void stage_result(const ProductMaps* maps, const Tile& t, const float (&sums)[128],
                                             Staging& staging, int group, int thread) {
  const int warp = thread / 32, lane = thread % 32;
  const int row0 = t.row + group * 64, row = row0 + warp * 16 + lane / 4;
  staging.open();
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col0 = t.col + c * 64;
    if (c * 64 >= t.width || (t.symmetric && col0 > row0)) break;
    const bool diagonal = t.symmetric && col0 == row0;
    const bool mirror = t.symmetric && col0 < row0 && col0 / 256 == row0 / 256;
    const int to_diagonal = row - col0 - 2 * (lane % 4);
    Box result = rounded<T>(sums, c, t.alpha, t.delta, to_diagonal);
    const int box = staging.reserve(mirror || diagonal ? 2 : 1, maps);
    char* second = staging.box(box + 1);
    if (mirror || diagonal) result.write_transposed(second, warp, lane);
    if (diagonal) {
      sync_warpgroup(group);
      result.take_upper_triangle(second, warp, lane);
    }
    result.write(staging.box(box), warp, lane);
    staging.store(box, false, col0, row0, t.out);
    if (mirror) staging.store(box + 1, false, row0, col0, t.out);
    if (!t.write_shifted || col0 / 128 != row0 / 128) continue;
    if (diagonal) {
      result = rounded<T>(sums, c, t.alpha, t.delta + t.shift, to_diagonal);
      result.take_upper_triangle(second, warp, lane);
      sync_warpgroup(group);
      result.write(second, warp, lane);
    }
    staging.store(diagonal ? box + 1 : box, true, col0 % 128, row0, t.out);
    if (mirror) staging.store(box + 1, true, row0 % 128, col0, t.out);
  }
  staging.send(maps, t.signal);
}

/// Each row's sum of squares over the tile. In the order of the columns: the same bits every time.
__device__ __forceinline__ void write_row_squares(const Tile& t, const float (&sums)[128], int group, int thread) {
  const int lane = thread % 32, row = t.row + group * 64 + thread / 32 * 16 + lane / 4;
  float upper = 0, lower = 0;
#pragma unroll
  for (int j = 0; j < 32; ++j) {
    const float* s = &sums[4 * j];
    upper += s[0] * s[0] + s[1] * s[1];
    lower += s[2] * s[2] + s[3] * s[3];
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
