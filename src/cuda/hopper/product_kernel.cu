// SPDX-License-Identifier: Apache-2.0
//
// One persistent block per multiprocessor. One of its warps takes the next tile of the list and waits until its
// operands are complete; one loads operands (bulk tensor copies into a ring of stages); two warpgroups multiply up to
// 64 x kTileCols each; two more warps store. No deadlock: a tile never waits for a later one, and only running blocks
// take tiles.
#include "cuda/hopper/product_kernel.h"

#include "cuda/hopper/copy.cuh"
#include "cuda/hopper/epilogue.cuh"
#include "cuda/hopper/wgmma.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kStages = 3;
constexpr int kBytesA = kTileRows / kBoxSide * kBoxBytes, kBytesB = kTileCols / kBoxSide * kBoxBytes;
constexpr int kStageBytes = kBytesA + kBytesB;
constexpr int kConsumers = 2, kThreads = kWarpgroup * (kConsumers + 1);
constexpr int kTileRing = 3;  // one tile being multiplied, one loaded, one chosen
// How many lanes of a warp release a tile. One does it for all, after __syncwarp; racecheck does not see that this
// orders the reads of the others, so there each speaks for itself.
#ifdef TRASMUON_FOR_RACECHECK
constexpr int kReleasingLanes = 32;
#else
constexpr int kReleasingLanes = 1;
#endif

struct Control {
  std::uint64_t full[kStages], empty[kStages], staged[kConsumers], free[kConsumers];
  std::uint64_t chosen[kTileRing], finished[kTileRing];
  Tile tiles[kTileRing];
  StoreList stores[kConsumers];
};

struct Ring {
  char* stages;
  std::uint64_t *full, *empty;
  std::uint32_t phase;
  int stage = 0;

  __device__ char* a() const { return stages + stage * kStageBytes; }
  __device__ char* b() const { return a() + kBytesA; }
  __device__ void advance() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
  __device__ std::uint64_t* previous_empty() const { return &empty[stage == 0 ? kStages - 1 : stage - 1]; }
};

/// The tiles that this block works on.
struct TileRing {
  Tile* tiles;
  std::uint64_t *chosen, *finished;
  std::uint32_t phase;
  int at = 0;

  __device__ const Tile& wait() const {
    barrier_wait(&chosen[at], phase);
    return tiles[at];
  }
  __device__ void release() const { barrier_arrive(&finished[at]); }
  __device__ void advance() {
    if (++at == kTileRing) at = 0, phase ^= 1;
  }
};

__device__ void choose_tiles(const ProductTables& tables, TileRing ring) {
  int ticket = static_cast<int>(atomicAdd(tables.ticket, 1));
  for (;; ring.advance()) {
    barrier_wait(&ring.finished[ring.at], ring.phase);
    Tile& t = ring.tiles[ring.at];
    const bool none = ticket >= tables.tile_count;
    if (none) {
      t.width = 0;
    } else {
      t = tables.tiles[ticket];
      ticket = static_cast<int>(atomicAdd(tables.ticket, 1));
      if (t.wait >= 0) wait_until(&tables.counters[t.wait], static_cast<unsigned>(t.wait_for));
      fence_global_for_copies();
    }
    barrier_arrive(&ring.chosen[ring.at]);
    if (none) return;
  }
}

/// Loads kTileRows rows or columns of an operand, kTileDepth deep.
__device__ __forceinline__ void load_operand(char* to, const CUtensorMap* by_row, const CUtensorMap* by_column,
                                             std::uint64_t* full, bool transposed, int across, int depth, int batch) {
  if (!transposed) {
    load_box(to, by_row, full, depth, across, batch);
  } else {
    load_box(to, by_column, full, across, depth, batch);
    load_box(to + kBoxBytes, by_column, full, across + kBoxSide, depth, batch);
  }
}

__device__ void load_tile(const ProductMaps& maps, const Tile& t, Ring& ring) {
  for (int step = 0; step < t.steps; ++step, ring.advance()) {
    std::uint64_t* full = &ring.full[ring.stage];
    const int d = step * kTileDepth;
    barrier_wait(&ring.empty[ring.stage], ring.phase);
    barrier_expect_bytes(full, kBytesA + t.width / kBoxSide * kBoxBytes);
    load_operand(ring.a(), &maps.a, &maps.a_by_column, full, step >= t.transpose_a_from, t.row, d, t.a);
    for (int k = 0; k < t.width / kTileRows; ++k) {
      const int col = t.col + kTileRows * k;
      char* to = ring.b() + 2 * k * kBoxBytes;
      if (t.shifted_b && d / kDiagonalBlock == col / kDiagonalBlock)
        load_box(to, &maps.b_diagonal, full, d % kDiagonalBlock, col, t.b);
      else load_operand(to, &maps.b, &maps.b_by_column, full, step >= t.transpose_b_from, col, d, t.b);
    }
  }
}

__device__ void load_tiles(const ProductTables& tables, TileRing tiles, Ring ring) {
  for (;; tiles.advance()) {
    const Tile t = tiles.wait();
    tiles.release();
    if (t.width == 0) return;
    fence_global_for_copies();
    load_tile(tables.maps[t.maps], t, ring);
  }
}

/// Steps [begin, end) of the 64 x N sums of this warpgroup.
template <class T, int N, int AByColumn, int BByColumn>
__device__ __forceinline__ void multiply(float (&sums)[kSums], Ring& ring, int begin, int end, int group, bool leader) {
#pragma unroll 1  // there are many of these loops, and the instruction cache is small
  for (int step = begin; step < end; ++step) {
    barrier_wait(&ring.full[ring.stage], ring.phase);
    const char* a = ring.a() + group * kBoxBytes;
    const char* b = ring.b();
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kTileDepth / kWgmmaDepth; ++k) {
      wgmma<T, N, AByColumn, BByColumn>(
          sums, operand_descriptor(a + k * depth_bytes(AByColumn), kBoxBytes, kSwizzleBytes),
          operand_descriptor(b + k * depth_bytes(BByColumn), kBoxBytes, kSwizzleBytes), step | k);
    }
    wgmma_commit();
    wgmma_wait<1>();  // the products of the previous stage are done
    if (step > 0 && leader) barrier_arrive(ring.previous_empty());
    ring.advance();
  }
}

template <class T, int N>
__device__ __forceinline__ void multiply(float (&sums)[kSums], Ring& ring, const Tile& t, int group, bool leader) {
  const int b_from = min(t.transpose_b_from, t.steps), a_from = min(t.transpose_a_from, t.steps);  // b_from <= a_from
  multiply<T, N, 0, 0>(sums, ring, 0, b_from, group, leader);
  multiply<T, N, 0, 1>(sums, ring, b_from, a_from, group, leader);
  multiply<T, N, 1, 1>(sums, ring, a_from, t.steps, group, leader);
  wgmma_wait<0>();
  if (leader) barrier_arrive(ring.previous_empty());
}

template <class T>
__device__ __forceinline__ void multiply_tiles(const ProductTables& tables, TileRing tiles, Ring ring, Staging staging,
                                               int group, int thread) {
  const bool leader = thread == 0;
  float sums[kSums];
  for (;; tiles.advance()) {
    const Tile& t = tiles.wait();
    if (t.width == 0) break;
    switch (columns_of(t, group)) {
      case kBoxSide: multiply<T, kBoxSide>(sums, ring, t, group, leader); break;
      case 2 * kBoxSide: multiply<T, 2 * kBoxSide>(sums, ring, t, group, leader); break;
      case 3 * kBoxSide: multiply<T, 3 * kBoxSide>(sums, ring, t, group, leader); break;
      default: multiply<T, kTileCols>(sums, ring, t, group, leader);
    }
    if (t.row_squares != nullptr) write_row_squares(t, sums, group, thread);
    stage_result<T>(&tables.maps[t.maps], t, sums, staging, group, thread);
    __syncwarp();
    if (thread % 32 < kReleasingLanes) tiles.release();
  }
  staging.open();
  staging.send(nullptr, -1);
}

template <class T>
__global__ void __launch_bounds__(kThreads, 1) product_kernel(const ProductTables tables) {
  __shared__ Control control;
  extern __shared__ char raw[];
  char* stages = raw + (kSwizzleBytes - shared_address(raw) % kSwizzleBytes) % kSwizzleBytes;
  char* boxes = stages + kStages * kStageBytes;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&control.full[s], 1);
      barrier_init(&control.empty[s], kConsumers);
    }
    for (int g = 0; g < kConsumers; ++g) {
      barrier_init(&control.staged[g], 4);
      barrier_init(&control.free[g], 1);
    }
    for (int k = 0; k < kTileRing; ++k) {
      barrier_init(&control.chosen[k], 1);
      barrier_init(&control.finished[k], 1 + 4 * kReleasingLanes * kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  const int group = threadIdx.x / kWarpgroup, thread = threadIdx.x % kWarpgroup;
  const TileRing tiles{control.tiles, control.chosen, control.finished, 0};
  const Ring ring{stages, control.full, control.empty, 0};
  if (group == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (thread % 32 != 0) return;
    switch (const int warp = thread / 32) {  // phase 1: rings are empty at first, so those who fill them do not wait
      case 0: choose_tiles(tables, {tiles.tiles, tiles.chosen, tiles.finished, 1}); break;
      case 1: load_tiles(tables, tiles, {stages, ring.full, ring.empty, 1}); break;
      default:
        store_results(boxes + (warp - 2) * kStagedBoxes * kBoxBytes, control.stores[warp - 2],
                      &control.staged[warp - 2], &control.free[warp - 2], tables.counters);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
    multiply_tiles<T>(tables, tiles, ring,
                      Staging(boxes + group * kStagedBoxes * kBoxBytes, &control.stores[group], &control.staged[group],
                              &control.free[group], thread),
                      group, thread);
  }
}

constexpr int kSharedBytes = kStages * kStageBytes + kConsumers * kStagedBoxes * kBoxBytes + kSwizzleBytes;

}  // namespace

cudaError_t launch_product_kernel(const ProductTables& tables, int blocks, bool bfloat16, cudaStream_t stream) {
  const auto kernel = bfloat16 ? product_kernel<__nv_bfloat16> : product_kernel<__half>;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>(blocks), kThreads, kSharedBytes, stream>>>(tables);
  return cudaGetLastError();
}

}  // namespace trasmuon::cuda
