// SPDX-License-Identifier: Apache-2.0
//
// One persistent block per multiprocessor. One warp fetches operand tiles (bulk tensor copies
// into a ring of stages); two warpgroups multiply 64 x 256 each and write the result. Symmetric
// results are computed below the diagonal and mirrored on the way out.
#include "cuda/hopper.cuh"
#include "cuda/products_sm90.h"
#include "cuda/wgmma.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kRows = 128, kDepth = 64;  // of a tile; it is 256 or 128 wide
constexpr int kStages = 4;
constexpr int kBytesA = kRows * kDepth * 2, kStageBytes = kBytesA + 256 * kDepth * 2;
constexpr int kBox = 64 * 64 * 2;       // bytes of a 64 x 64 box
constexpr int kStaging = 2 * 2 * kBox;  // for each warpgroup: a box, and its mirror image
constexpr int kConsumers = 2, kThreads = 128 * (kConsumers + 1);

struct Ring {
  char* stages;
  std::uint64_t *full, *empty;
  int stage = 0;
  std::uint32_t phase;

  __device__ char* a() const { return stages + stage * kStageBytes; }
  __device__ char* b() const { return a() + kBytesA; }
  __device__ void advance() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
  __device__ std::uint64_t* previous_empty() const { return &empty[stage == 0 ? kStages - 1 : stage - 1]; }
};

struct Tile {
  const Problem* problem;
  int batch, row, col, width;
};

/// Tile `index` of the launch. The narrow tiles come last, so that the blocks finish together.
__device__ Tile find_tile(const Problem* problems, int count, int index, int wide_tiles) {
  const bool wide = index < wide_tiles;
  int which = 0;
  while (which + 1 < count && index >= (wide ? problems[which + 1].first_wide : problems[which + 1].first_narrow))
    ++which;
  const Problem& p = problems[which];
  index -= wide ? p.first_wide : p.first_narrow;
  const int per_matrix = wide ? p.wide_tiles : p.narrow_tiles;
  Tile t{&p, index / per_matrix, 0, 0, wide ? 256 : 128};
  int rest = index % per_matrix, row_block;
  if (!p.symmetric) {
    constexpr int kBand = 8;  // row blocks that go together, for the sake of the L2 cache
    const int across = p.wide_tiles / p.row_blocks;
    const int band = rest / (kBand * across), height = min(kBand, p.row_blocks - band * kBand);
    rest -= band * kBand * across;
    row_block = band * kBand + rest % height;
    t.col = rest / height * 256;
  } else if (wide) {  // row block i has (i + 1) / 2 of them
    row_block = 1;
    while (rest >= (row_block + 1) / 2) rest -= (row_block + 1) / 2, ++row_block;
    t.col = rest * 256;
  } else {  // every other row block ends with a narrow one, on the diagonal
    row_block = 2 * rest;
    t.col = row_block * kRows;
  }
  t.row = row_block * kRows;
  return t;
}

__device__ void fetch(const Tile& t, Ring& ring) {
  const Problem& p = *t.problem;
  for (int d = 0; d < p.depth; d += kDepth, ring.advance()) {
    std::uint64_t* full = &ring.full[ring.stage];
    barrier_wait(&ring.empty[ring.stage], ring.phase);
    barrier_expect_bytes(full, kBytesA + t.width * kDepth * 2);
    if (p.a_by_column) {
      for (int half = 0; half < 2; ++half) load_box(ring.a() + half * kBox, &p.a, full, t.row + half * 64, d, t.batch);
    } else {
      load_box(ring.a(), &p.a, full, d, t.row, t.batch);
    }
    for (int across = 0; across < t.width; across += 128) {
      char* to = ring.b() + across * kDepth * 2;
      const int col = t.col + across;
      if (p.b_by_column) {
        for (int half = 0; half < 2; ++half) load_box(to + half * kBox, &p.b, full, col + half * 64, d, t.batch);
      } else if (p.shifted_b && d / 128 == col / 128) {
        load_box(to, &p.b_diagonal, full, d % 128, 0, t.batch * p.row_blocks + d / 128);
      } else {
        load_box(to, &p.b, full, d, col, t.batch);
      }
    }
  }
}

/// This warpgroup's 64 x N of the tile.
template <class T, int N, int AByColumn, int BByColumn>
__device__ __forceinline__ void multiply(float (&sums)[128], Ring& ring, int depth, int group, bool leader) {
  for (int d = 0; d < depth; d += kDepth) {
    barrier_wait(&ring.full[ring.stage], ring.phase);
    const char* a = ring.a() + group * kBox;
    const char* b = ring.b();
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      wgmma<T, N, AByColumn, BByColumn>(sums, operand_descriptor(a + k * (AByColumn ? 2048 : 32), kBox, 1024),
                                        operand_descriptor(b + k * (BByColumn ? 2048 : 32), kBox, 1024), d | k);
    }
    wgmma_commit();
    wgmma_wait<1>();  // the stage before this one has been read
    if (d > 0 && leader) barrier_arrive(ring.previous_empty());
    ring.advance();
  }
  wgmma_wait<0>();
  if (leader) barrier_arrive(ring.previous_empty());
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

template <class T>
__device__ __forceinline__ void write_result(const Tile& t, const float (&sums)[128], char* staging, int group,
                                             int thread) {
  const Problem& p = *t.problem;
  const int warp = thread / 32, lane = thread % 32;
  const bool leader = thread == 0;
  const int row0 = t.row + group * 64, row = row0 + warp * 16 + lane / 4;
  char *box = staging, *second = staging + kBox;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col0 = t.col + c * 64;
    if (c * 64 >= t.width || (p.symmetric && col0 > row0)) break;
    const bool mirror = p.symmetric && col0 < row0, diagonal = p.symmetric && col0 == row0;
    const bool in_diagonal_block = p.write_shifted && col0 / 128 == row0 / 128;
    const int to_diagonal = row - col0 - 2 * (lane % 4);
    Box result = rounded<T>(sums, c, p.alpha, p.delta, to_diagonal);
    if (leader) wait_stores_read<0>();
    sync_warpgroup(group);
    if (mirror || diagonal) result.write_transposed(second, warp, lane);
    if (diagonal) {
      // Symmetric to the last bit: the iteration amplifies what is not.
      sync_warpgroup(group);
      result.take_upper_triangle(second, warp, lane);
    }
    result.write(box, warp, lane);
    if (diagonal && in_diagonal_block) {
      result = rounded<T>(sums, c, p.alpha, p.delta + p.shift, to_diagonal);
      result.take_upper_triangle(second, warp, lane);
      sync_warpgroup(group);
      result.write(second, warp, lane);
    }
    fence_shared_for_copies();
    sync_warpgroup(group);
    if (leader) {
      store_box(&p.out, box, col0, row0, t.batch);
      if (mirror) store_box(&p.out, second, row0, col0, t.batch);
      if (in_diagonal_block) {
        const int block = t.batch * p.row_blocks + t.row / 128;
        store_box(&p.out_diagonal, diagonal ? second : box, col0 % 128, row0 % 128, block);
        if (mirror) store_box(&p.out_diagonal, second, row0 % 128, col0 % 128, block);
      }
      commit_stores();
    }
  }
}

/// Each row's sum of squares over the tile. In the order of the columns: the same bits every time.
__device__ __forceinline__ void write_row_squares(const Tile& t, const float (&sums)[128], int group, int thread) {
  const Problem& p = *t.problem;
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
  const float scale = p.alpha * p.alpha;
  float* squares = p.row_squares + (std::int64_t{t.batch} * row_square_tiles(p.cols) + t.col / 256) * p.rows;
  if (lane % 4 == 0 && row < p.rows) squares[row] = scale * upper;
  if (lane % 4 == 0 && row + 8 < p.rows) squares[row + 8] = scale * lower;
}

template <class T>
__global__ void __launch_bounds__(kThreads, 1) products(const Problem* problems, int count, int wide_tiles, int tiles) {
  extern __shared__ char raw[];
  char* shared = raw + (1024 - shared_address(raw) % 1024) % 1024;  // the swizzle's period
  char* staging = shared + kStages * kStageBytes;
  auto* full = reinterpret_cast<std::uint64_t*>(staging + kStaging);
  auto* empty = full + kStages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  wait_for_previous_grid();

  const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
  const auto for_each_tile = [&](auto&& work) {
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) work(find_tile(problems, count, index, wide_tiles));
  };
  if (group == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    Ring ring{shared, full, empty, 0, 1};  // the first round finds every stage empty
    if (thread == 0) for_each_tile([&](const Tile& t) { fetch(t, ring); });
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
    Ring ring{shared, full, empty, 0, 0};
    float sums[128];
    for_each_tile([&](const Tile& t) {
      const Problem& p = *t.problem;
      const bool leader = thread == 0;
      if (p.a_by_column && t.width == 256) multiply<T, 256, 1, 1>(sums, ring, p.depth, group, leader);
      else if (p.a_by_column) multiply<T, 128, 1, 1>(sums, ring, p.depth, group, leader);
      else if (p.b_by_column) multiply<T, 256, 0, 1>(sums, ring, p.depth, group, leader);
      else if (t.width == 256) multiply<T, 256, 0, 0>(sums, ring, p.depth, group, leader);
      else multiply<T, 128, 0, 0>(sums, ring, p.depth, group, leader);
      write_result<T>(t, sums, staging + group * 2 * kBox, group, thread);
      if (p.row_squares != nullptr) write_row_squares(t, sums, group, thread);
    });
    if (thread == 0) wait_stores_done();
  }
}

constexpr int kSharedBytes = kStages * kStageBytes + kStaging + 2 * kStages * 8 + 1024;

}  // namespace

cudaError_t launch_products_sm90(const Problem* problems, int count, int wide_tiles, int tiles, int blocks,
                                 bool bfloat16, cudaStream_t stream) {
  const auto kernel = bfloat16 ? products<__nv_bfloat16> : products<__half>;
  cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, problems, count, wide_tiles, tiles);
}

}  // namespace trasmuon::cuda
