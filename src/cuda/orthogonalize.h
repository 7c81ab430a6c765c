// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "cuda/blas.h"
#include "cuda/device_memory.h"
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

/// Whether the Gram form can hold these coefficients: b / c goes on a diagonal in 16 bits.
bool fits_gram_form(const OrthogonalizeStage& stage);

}  // namespace trasmuon::cuda
