// SPDX-License-Identifier: Apache-2.0
//
// The Gram iteration on matrices with a short side of up to kSmallSide, one block each. R, Z and Q, which are squares
// of the short side, stay in shared memory, padded with zeros to 64 or 128; X is streamed through in chunks of 64 along
// its long side, one box per warpgroup.
#include "cuda/hopper/small_kernel.h"

#include <algorithm>

#include "cuda/hopper/copy.cuh"
#include "cuda/hopper/fragment.cuh"
#include "cuda/hopper/wgmma.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kStages = 4;                           // chunks of X in shared memory
constexpr int kFragment = 32;                        // numbers that a thread holds of a 64 x 64 result
constexpr int kSquareChunks = kTileCols / kBoxSide;  // chunks over which row squares are summed

/// Shared memory of a block. The stages of X share memory with R and Z: while X is streamed, R is in registers.
template <int Side>
struct Layout {
  static constexpr int kGroups = Side / kBoxSide, kThreads = kGroups * kWarpgroup;
  static constexpr int kStage = kGroups * kBoxBytes, kSquare = kGroups * kGroups * kBoxBytes;
  static constexpr int kZ = kSquare, kQ = std::max(kStages * kStage, 2 * kSquare), kSquares = kQ + kSquare;
  static constexpr int kBytes = kSquares + kGroups * kBoxSide * 4;
  /// Squares are stored by columns of boxes, so a column of boxes is laid out like a stage of X.
  static constexpr int box(int row, int col) { return (col * kGroups + row) * kBoxBytes; }
};

/// The compiler does not know that asynchronous products write to these registers until the wait.
template <int Count>
__device__ __forceinline__ void wait_for_products(float (&sums)[Count]) {
  wgmma_commit();
  wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

/// Keeps the compiler from computing values derived from x early, where they would occupy registers.
__device__ __forceinline__ int computed_here(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

/// The iteration on one matrix, as one thread sees it. X is tall if it has more rows than columns.
template <class T, int Side>
class Iteration {
 public:
  __device__ Iteration(const SmallMatrix& matrix, char* shared)
      : m_(matrix),
        x_(static_cast<T*>(matrix.x)),
        shared_(shared),
        tall_(matrix.rows > matrix.cols),
        group_(static_cast<int>(threadIdx.x) / kWarpgroup),
        thread_(static_cast<int>(threadIdx.x) % kWarpgroup),
        chunks_((max(matrix.rows, matrix.cols) + kBoxSide - 1) / kBoxSide) {}

  __device__ __forceinline__ void run(const SmallStep* steps, int count) {
    char* r = shared_;
    float scale = 1 / m_.norm;
    for (int i = 0; i < count;) {  // from one restart to the next
      float sums[Side / 2] = {};
      if (i == 0) {
        for_each_chunk([&](int chunk, char* stage) { add_gram(sums, stage); });
      } else {
        apply<false>(scale, sums);
        scale = 1;
      }
      store_symmetric(sums, {.alpha = scale * scale}, r);
      for (bool has_q = false, ends = false; !ends; has_q = true, ++i) {
        ends = i + 1 == count || steps[i].restart;
        take_step(steps[i], r, has_q, ends);
      }
    }
    float none[1];
    apply<true>(scale, none);
  }

 private:
  using L = Layout<Side>;

  /// alpha sums + beta added + delta I, where I has `diagonal` rows.
  struct Combination {
    float alpha = 1, beta = 0;
    const char* added = nullptr;
    float delta = 0;
    int diagonal = 0;
  };

  /// Z from R; Q <- QZ, or Q <- Z if there is no Q yet; R <- RZ twice unless this is the last step on this R.
  __device__ __forceinline__ void take_step(const SmallStep& step, char* r, bool has_q, bool last_on_r) const {
    char *q = shared_ + L::kQ, *z = has_q ? shared_ + L::kZ : q;
    const Combination polynomial{step.c, step.b, r, step.a, min(m_.rows, m_.cols)};
    for (int product = 0; product < (last_on_r ? 2 : 4);
         ++product) {  // a loop, because four copies of the code would be long
      if (product == 1 && !has_q) continue;
      float sums[Side / 2] = {};
      char* a = product == 1 ? q : r;
      multiply(sums, a, product == 0 ? r : z);
      store_symmetric(sums, product == 0 ? polynomial : Combination{}, product == 0 ? z : a);
    }
  }

  __device__ __forceinline__ int box_row(int chunk) const { return (tall_ ? chunk : group_) * kBoxSide; }
  __device__ __forceinline__ int box_col(int chunk) const { return (tall_ ? group_ : chunk) * kBoxSide; }

  /// Starts to copy this warpgroup's box of a chunk into shared memory; zeros outside the matrix.
  __device__ __forceinline__ void start_copy(int chunk) const {
    if (chunk < chunks_) {
      const int thread = computed_here(thread_);
      char* box = shared_ + chunk % kStages * L::kStage + group_ * kBoxBytes;
      const int piece = thread % kBoxPieces, col = box_col(chunk) + 8 * piece;
#pragma unroll
      for (int line = thread / kBoxPieces; line < kBoxSide; line += kWarpgroup / kBoxPieces) {
        const int row = box_row(chunk) + line, bytes = row < m_.rows ? 2 * max(0, min(8, m_.cols - col)) : 0;
        const T* from = bytes > 0 ? x_ + std::int64_t{row} * m_.row_stride + col : x_;
        copy_piece(box + box_offset(line, piece), from, bytes);
      }
    }
    commit_copies();
  }

  /// Writes a stage back to X.
  __device__ __forceinline__ void write_back(int chunk, const char* stage) const {
    const int thread = computed_here(thread_);
    const char* box = stage + group_ * kBoxBytes;
    const int piece = thread % kBoxPieces, col = box_col(chunk) + 8 * piece;
#pragma unroll
    for (int line = thread / kBoxPieces; line < kBoxSide; line += kWarpgroup / kBoxPieces) {
      const int row = box_row(chunk) + line;
      if (row < m_.rows && col < m_.cols) {
        *reinterpret_cast<uint4*>(x_ + std::int64_t{row} * m_.row_stride + col) =
            *reinterpret_cast<const uint4*>(box + box_offset(line, piece));
      }
    }
  }

  /// Calls body(chunk, stage) as the chunks arrive. The products that body starts must be done when it returns.
  template <class Body>
  __device__ __forceinline__ void for_each_chunk(Body&& body) const {
    for (int chunk = 0; chunk < kStages - 1; ++chunk) start_copy(chunk);
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      wait_copies<kStages - 2>();
      fence_shared_for_copies();
      __syncthreads();  // this chunk has arrived, and no thread reads the previous one any more
      start_copy(chunk + kStages - 1);
      body(chunk, shared_ + chunk % kStages * L::kStage);
    }
  }

  /// sums += A B, 64 x N, `Depth` deep. next_a, next_b: bytes from one box of depth to the next.
  template <int Depth, int N, int AByColumn, int BByColumn, int Count>
  __device__ __forceinline__ static void multiply_boxes(float (&sums)[Count], const char* a, int next_a, const char* b,
                                                        int next_b) {
    // Descriptors hold addresses in units of 16 bytes; adding an offset does not overflow into other fields.
    const std::uint64_t first_a = operand_descriptor(a, kBoxBytes, kSwizzleBytes);
    const std::uint64_t first_b = operand_descriptor(b, kBoxBytes, kSwizzleBytes);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < Depth / kWgmmaDepth; ++k) {
      constexpr int kPerBox = kBoxSide / kWgmmaDepth;
      const int deep = k / kPerBox, step = k % kPerBox;
      const int offset_a = deep * next_a + step * depth_bytes(AByColumn);
      const int offset_b = deep * next_b + step * depth_bytes(BByColumn);
      wgmma<T, N, AByColumn, BByColumn>(sums, first_a + offset_a / 16, first_b + offset_b / 16, 1);
    }
    wait_for_products(sums);
  }

  /// sums += the chunk's contribution to X X^T or X^T X: 64 rows per warpgroup.
  __device__ __forceinline__ void add_gram(float (&sums)[Side / 2], const char* stage) const {
    const char* own = stage + group_ * kBoxBytes;
    if (tall_) multiply_boxes<kBoxSide, Side, 1, 1>(sums, own, 0, stage, 0);
    else multiply_boxes<kBoxSide, Side, 0, 0>(sums, own, 0, stage, 0);
  }

  /// sums = A B of squares, B symmetric: 64 rows per warpgroup.
  __device__ __forceinline__ void multiply(float (&sums)[Side / 2], const char* a, const char* b) const {
    multiply_boxes<Side, Side, 0, 0>(sums, a + L::box(group_, 0), L::kStage, b, L::kStage);
  }

  /// y = this warpgroup's box of Q X or X Q.
  __device__ __forceinline__ void multiply_by_q(float (&y)[kFragment], const char* stage) const {
    const char* q = shared_ + L::kQ + L::box(group_, 0);
    if (tall_) multiply_boxes<Side, kBoxSide, 0, 0>(y, stage, kBoxBytes, q, L::kStage);
    else multiply_boxes<Side, kBoxSide, 0, 1>(y, q, L::kStage, stage, kBoxBytes);
  }

  /// Stores a result that is symmetric to the last bit: each number is the mean of itself and its mirror image.
  __device__ __forceinline__ void store_symmetric(const float (&sums)[Side / 2], const Combination& how,
                                                  char* to) const {
    __syncthreads();  // no thread reads the old contents of `to` any more
    const int thread = computed_here(thread_);
    Fragment own[L::kGroups];
#pragma unroll
    for (int c = 0; c < L::kGroups; ++c) {
      own[c] = {};
      if (how.added != nullptr) own[c].read(how.added + L::box(group_, c), thread);
      const int row = group_ * kBoxSide + fragment_row(thread);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int col = c * kBoxSide + fragment_col(thread, j);
        const auto combined = [&](const float* s, std::uint32_t added, int i) {
          const float2 x = unpack<T>(added);
          const float delta = i < how.diagonal ? how.delta : 0;
          return pack<T>(how.alpha * s[0] + how.beta * x.x + (i == col ? delta : 0),
                         how.alpha * s[1] + how.beta * x.y + (i == col + 1 ? delta : 0));
        };
        const float* s = &sums[c * kFragment + 4 * j];
        own[c].upper[j] = combined(s, own[c].upper[j], row);
        own[c].lower[j] = combined(s + 2, own[c].lower[j], row + 8);
      }
      own[c].write_transposed(to + L::box(c, group_), thread);
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < L::kGroups; ++c) {
      char* box = to + L::box(group_, c);  // no other warp uses the sixteen rows of this one
      Fragment mirrored;
      mirrored.read(box, thread);
      own[c].template average_with<T>(mirrored);
      own[c].write(box, thread);
    }
    fence_shared_for_copies();
    __syncthreads();
  }

  /// X <- scale Q X or scale X Q. The last time also row squares; else the Gram matrix of the new X in sums.
  template <bool Last, int Count>
  __device__ __forceinline__ void apply(float scale, float (&sums)[Count]) const {
    const bool squares = Last && m_.row_squares != nullptr;
    float upper = 0, lower = 0;
    for_each_chunk([&](int chunk, char* stage) {
      float y[kFragment] = {};
      multiply_by_q(y, stage);
      __syncthreads();  // all threads have read the chunk, which the result replaces
      const int thread = computed_here(thread_);
      Fragment result;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        float* s = &y[4 * j];
#pragma unroll
        for (int i = 0; i < 4; ++i) s[i] *= scale;
        result.upper[j] = pack<T>(s[0], s[1]);
        result.lower[j] = pack<T>(s[2], s[3]);
        upper += s[0] * s[0] + s[1] * s[1];
        lower += s[2] * s[2] + s[3] * s[3];
      }
      result.write(stage + group_ * kBoxBytes, thread);
      if (squares) add_squares(chunk, upper, lower);
      fence_shared_for_copies();
      __syncthreads();
      write_back(chunk, stage);
      if (squares && tall_) write_tall_squares(chunk);
      if constexpr (!Last) add_gram(sums, stage);
    });
    if (!Last) __threadfence();  // X is read again, bypassing L1
  }

  __device__ __forceinline__ float* tall_squares() const { return reinterpret_cast<float*>(shared_ + L::kSquares); }

  /// Row squares are sums over kTileCols columns: over four chunks or, if X is tall, over all warpgroups.
  __device__ __forceinline__ void add_squares(int chunk, float& upper, float& lower) const {
    if (!tall_ && chunk % kSquareChunks != kSquareChunks - 1 && chunk + 1 != chunks_) return;
    for (int d = 1; d < 4; d *= 2) {
      upper += __shfl_xor_sync(~0u, upper, d);
      lower += __shfl_xor_sync(~0u, lower, d);
    }
    const int row = group_ * kBoxSide + fragment_row(thread_), limit = tall_ ? Side : m_.rows;
    float* squares = tall_ ? tall_squares() : m_.row_squares + std::int64_t{chunk / kSquareChunks} * m_.rows;
    if (thread_ % 4 == 0 && row < limit) squares[row] = upper;
    if (thread_ % 4 == 0 && row + 8 < limit) squares[row + 8] = lower;
    upper = lower = 0;
  }

  __device__ __forceinline__ void write_tall_squares(int chunk) const {
    const int line = static_cast<int>(threadIdx.x), row = chunk * kBoxSide + line;
    if (line >= kBoxSide || row >= m_.rows) return;
    float sum = 0;
    for (int g = 0; g < L::kGroups; ++g) sum += tall_squares()[g * kBoxSide + line];
    m_.row_squares[row] = sum;
  }

  const SmallMatrix& m_;
  T* x_;
  char* shared_;
  bool tall_;
  int group_, thread_, chunks_;
};

template <class T, int Side>
__global__ void __launch_bounds__(Layout<Side>::kThreads, Side == kBoxSide ? 5 : 2)
    small_kernel(const SmallMatrix* matrices, const SmallStep* steps, int count) {
  extern __shared__ char raw[];
  char* shared = raw + (kSwizzleBytes - shared_address(raw) % kSwizzleBytes) % kSwizzleBytes;
  const SmallMatrix matrix = matrices[blockIdx.x];
  Iteration<T, Side>(matrix, shared).run(steps, count);
}

template <class T, int Side>
cudaError_t launch(const SmallMatrix* matrices, int matrix_count, const SmallStep* steps, int step_count,
                   cudaStream_t stream) {
  constexpr int kSharedBytes = Layout<Side>::kBytes + kSwizzleBytes;
  const cudaError_t error =
      cudaFuncSetAttribute(small_kernel<T, Side>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  small_kernel<T, Side><<<static_cast<unsigned>(matrix_count), Layout<Side>::kThreads, kSharedBytes, stream>>>(
      matrices, steps, step_count);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_small_kernel(const SmallMatrix* matrices, int matrix_count, int side, const SmallStep* steps,
                                int step_count, bool bfloat16, cudaStream_t stream) {
  const auto run = side == kBoxSide ? (bfloat16 ? launch<__nv_bfloat16, kBoxSide> : launch<__half, kBoxSide>)
                                    : (bfloat16 ? launch<__nv_bfloat16, kSmallSide> : launch<__half, kSmallSide>);
  return run(matrices, matrix_count, steps, step_count, stream);
}

}  // namespace trasmuon::cuda
