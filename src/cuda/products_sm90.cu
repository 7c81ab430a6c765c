// SPDX-License-Identifier: Apache-2.0
//
// One persistent block per multiprocessor. Of its warps, one takes the next tile of a list and waits
// until what it needs is there, one fetches operands (bulk tensor copies into a ring of stages), two
// warpgroups multiply up to 64 x 256 each, and two more warps store. A tile never waits for a later
// one, and only blocks that are running take tiles: no deadlock.
#include "cuda/products_sm90.h"
#include "cuda/tile_result.cuh"
#include "cuda/wgmma.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kDepth = 64;
constexpr int kStages = 3;
constexpr int kBytesA = 2 * kBox, kStageBytes = kBytesA + 4 * kBox;
constexpr int kConsumers = 2, kThreads = 128 * (kConsumers + 1);
constexpr int kTileRing = 3;  // multiplied, fetched, chosen

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

/// The tiles that this block works on, one after the other.
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

__device__ void choose_all(const ProductTables& tables, TileRing ring) {
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

/// 128 rows or columns of an operand, 64 of depth.
__device__ __forceinline__ void load_half(char* to, const CUtensorMap* by_row, const CUtensorMap* by_column,
                                          std::uint64_t* full, bool flipped, int across, int depth, int batch) {
  if (!flipped) {
    load_box(to, by_row, full, depth, across, batch);
  } else {
    load_box(to, by_column, full, across, depth, batch);
    load_box(to + kBox, by_column, full, across + 64, depth, batch);
  }
}

__device__ void fetch(const ProductMaps& maps, const Tile& t, Ring& ring) {
  for (int step = 0; step < t.steps; ++step, ring.advance()) {
    std::uint64_t* full = &ring.full[ring.stage];
    const int d = step * kDepth;
    barrier_wait(&ring.empty[ring.stage], ring.phase);
    barrier_expect_bytes(full, kBytesA + t.width / 64 * kBox);
    load_half(ring.a(), &maps.a, &maps.a_by_column, full, step >= t.a_flips, t.row, d, t.a);
    for (int k = 0; k < t.width / 128; ++k) {
      const int col = t.col + 128 * k;
      char* to = ring.b() + 2 * k * kBox;
      if (t.shifted_b && d / 128 == col / 128) load_box(to, &maps.b_diagonal, full, d % 128, col, t.b);
      else load_half(to, &maps.b, &maps.b_by_column, full, step >= t.b_flips, col, d, t.b);
    }
  }
}

__device__ void fetch_all(const ProductTables& tables, TileRing tiles, Ring ring) {
  for (;; tiles.advance()) {
    const Tile t = tiles.wait();
    tiles.release();
    if (t.width == 0) return;
    fence_global_for_copies();
    fetch(tables.maps[t.maps], t, ring);
  }
}

/// Steps [begin, end) of this warpgroup's 64 x N.
template <class T, int N, int AByColumn, int BByColumn>
__device__ __forceinline__ void multiply(float (&sums)[128], Ring& ring, int begin, int end, int group, bool leader) {
#pragma unroll 1  // there are many of these loops, and one cache for their instructions
  for (int step = begin; step < end; ++step) {
    barrier_wait(&ring.full[ring.stage], ring.phase);
    const char* a = ring.a() + group * kBox;
    const char* b = ring.b();
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      wgmma<T, N, AByColumn, BByColumn>(sums, operand_descriptor(a + k * (AByColumn ? 2048 : 32), kBox, 1024),
                                        operand_descriptor(b + k * (BByColumn ? 2048 : 32), kBox, 1024), step | k);
    }
    wgmma_commit();
    wgmma_wait<1>();  // the stage before this one has been read
    if (step > 0 && leader) barrier_arrive(ring.previous_empty());
    ring.advance();
  }
}

template <class T, int N>
__device__ __forceinline__ void multiply(float (&sums)[128], Ring& ring, const Tile& t, int group, bool leader) {
  const int b_flips = min(t.b_flips, t.steps), a_flips = min(t.a_flips, t.steps);  // never a before b
  multiply<T, N, 0, 0>(sums, ring, 0, b_flips, group, leader);
  multiply<T, N, 0, 1>(sums, ring, b_flips, a_flips, group, leader);
  multiply<T, N, 1, 1>(sums, ring, a_flips, t.steps, group, leader);
  wgmma_wait<0>();
  if (leader) barrier_arrive(ring.previous_empty());
}

template <class T>
__device__ __forceinline__ void multiply_all(const ProductTables& tables, TileRing tiles, Ring ring, Staging staging,
                                             int group, int thread) {
  const bool leader = thread == 0;
  float sums[128];
  for (;; tiles.advance()) {
    const Tile& t = tiles.wait();
    if (t.width == 0) break;
    switch (columns_of(t, group)) {
      case 64: multiply<T, 64>(sums, ring, t, group, leader); break;
      case 128: multiply<T, 128>(sums, ring, t, group, leader); break;
      case 192: multiply<T, 192>(sums, ring, t, group, leader); break;
      default: multiply<T, 256>(sums, ring, t, group, leader);
    }
    if (t.row_squares != nullptr) write_row_squares(t, sums, group, thread);
    stage_result<T>(&tables.maps[t.maps], t, sums, staging, group, thread);
    __syncwarp();
    if (thread % 32 == 0) tiles.release();
  }
  staging.open();
  staging.send(nullptr, -1);
}

template <class T>
__global__ void __launch_bounds__(kThreads, 1) products(const ProductTables tables) {
  __shared__ Control control;
  extern __shared__ char raw[];
  char* stages = raw + (1024 - shared_address(raw) % 1024) % 1024;  // the swizzle's period
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
      barrier_init(&control.finished[k], 1 + 4 * kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
  const TileRing tiles{control.tiles, control.chosen, control.finished, 0};
  const Ring ring{stages, control.full, control.empty, 0};
  if (group == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (thread % 32 != 0) return;
    switch (const int warp = thread / 32) {  // those that fill a ring find all of it free in the first round
      case 0: choose_all(tables, {tiles.tiles, tiles.chosen, tiles.finished, 1}); break;
      case 1: fetch_all(tables, tiles, {stages, ring.full, ring.empty, 1}); break;
      default:
        store_results(boxes + (warp - 2) * kStagedBoxes * kBox, control.stores[warp - 2], &control.staged[warp - 2],
                      &control.free[warp - 2], tables.counters);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
    multiply_all<T>(tables, tiles, ring,
                    Staging(boxes + group * kStagedBoxes * kBox, &control.stores[group], &control.staged[group],
                            &control.free[group], thread),
                    group, thread);
  }
}

constexpr int kSharedBytes = kStages * kStageBytes + kConsumers * kStagedBoxes * kBox + 1024;

}  // namespace

cudaError_t launch_products_sm90(const ProductTables& tables, int blocks, bool bfloat16, cudaStream_t stream) {
  const auto kernel = bfloat16 ? products<__nv_bfloat16> : products<__half>;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>(blocks), kThreads, kSharedBytes, stream>>>(tables);
  return cudaGetLastError();
}

}  // namespace trasmuon::cuda
