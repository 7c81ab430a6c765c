// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cuda/blas.h"
#include "cuda/card.h"
#include "cuda/device_memory.h"
#include "cuda/kernels.h"
#include "stages/matrix.h"
#include "stages/stages.h"
#include "trasmuon/tensor.h"

namespace trasmuon::cuda {

/// The matrices of one stored shape, their iterates side by side: element (b, i, j) of X at
/// x[(b * rows + i) * row_stride + j].
struct Bucket {
  int rows = 0, cols = 0, batch = 0;
  int row_stride = 0;
  void* x = nullptr;             ///< input
  void* o = nullptr;             ///< output, laid out like x
  bool in_place = true;          ///< o is x
  float* row_squares = nullptr;  ///< wanted, if the iteration can: [batch, tiles of 256 columns, rows]
  int short_side() const { return rows < cols ? rows : cols; }
  int long_side() const { return rows < cols ? cols : rows; }
};

/// How the iteration multiplies.
struct Precision {
  DType dtype = DType::f16;  ///< of the iterates
  bool tf32 = false;
};

/// The Newton-Schulz iteration on buckets, planned once and enqueued at every step.
class Orthogonalizer {
 public:
  virtual ~Orthogonalizer() = default;
  virtual void enqueue(cudaStream_t stream) = 0;
  virtual bool leaves_row_squares() const { return false; }
};

/// 16-bit iterates on Hopper: Gram form on tensor cores, input of RMS kHalfRangeRms.
std::unique_ptr<Orthogonalizer> make_gram_iteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                                    DType dtype, int multiprocessors, Carver& scratch);
std::size_t gram_scratch_bytes(const std::vector<Bucket>& buckets, int multiprocessors);
/// Whether its output cannot be where its input was.
bool gram_form_ends_elsewhere(const OrthogonalizeStage& stage);

/// Everything else: standard form with cuBLAS, input of norm 1, output in its place.
std::unique_ptr<Orthogonalizer> make_standard_iteration(const std::vector<Bucket>& buckets,
                                                        const OrthogonalizeStage& stage, const Precision& precision,
                                                        const Blas& blas, Carver& scratch);
std::size_t standard_scratch_bytes(const std::vector<Bucket>& buckets, DType dtype);

/// The Gram form in one launch, a block for each matrix; Hopper, 16 bits, short sides up to kSmallSide,
/// input as for the Gram iteration. Needs no scratch.
constexpr int kSmallSide = 128;
std::unique_ptr<Orthogonalizer> make_small_iteration(const std::vector<Bucket>& buckets,
                                                     const OrthogonalizeStage& stage, DType dtype);

/// Whether the Gram form takes R anew from X after this many steps. In 16 bits R's small eigenvalues
/// drown after three steps and may turn negative, which the polynomial then amplifies.
constexpr bool restarts_after(std::size_t steps, std::size_t total) { return steps < total && steps % 3 == 2; }

/// Norm of a matrix whose RMS is kHalfRangeRms.
double half_range_norm(const Bucket& bucket);

/// Whether the Gram form can hold these coefficients: b / c goes on a diagonal in 16 bits.
bool fits_gram_form(const OrthogonalizeStage& stage);

/// How a matrix is iterated, in a step and outside.
struct Method {
  enum class Iteration : std::uint8_t {
    none,      ///< only normalised, or not even that
    gram,      ///< one launch for all of them
    small,     ///< a block for each matrix
    standard,  ///< cuBLAS
  } iteration = Iteration::none;
  DType dtype = DType::f32;  ///< of the iterates
  auto key() const { return std::pair(iteration, dtype); }

  bool ends_elsewhere(const OrthogonalizeStage& stage) const;  ///< the output cannot be where the input was
  InputScale input_scale() const;
  std::size_t scratch_bytes(const std::vector<Bucket>& buckets, const Card& card) const;
  /// Null for none.
  std::unique_ptr<Orthogonalizer> make(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                       const Card& card, Carver& scratch) const;
};

/// `compute`: f64 or f32.
Method method_of(const OrthogonalizeStage& stage, DType compute, std::int64_t short_side, const Card& card);

/// out[i] <- NS(in[i]), outside any step; all of one shape. Returns when it is done.
void orthogonalize(const Card& card, std::span<const MatrixView> in, std::span<const MatrixView> out,
                   const OrthogonalizeStage& stage, cudaStream_t stream);

}  // namespace trasmuon::cuda
