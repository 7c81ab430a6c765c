// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <span>
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
  void* x = nullptr;             ///< input, and output
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

/// Bytes of scratch for a bucket, whichever way it is iterated.
std::size_t iteration_scratch_bytes(int rows, int cols, DType dtype);

/// `scratch` has the buckets' iteration_scratch_bytes together. 16-bit iterates on Hopper take the
/// Gram form on tensor cores, input of RMS kHalfRangeRms; everything else the standard form with
/// cuBLAS, input of norm 1.
std::unique_ptr<Orthogonalizer> make_gram_iteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                                    DType dtype, int multiprocessors, Carver& scratch);
std::unique_ptr<Orthogonalizer> make_standard_iteration(const std::vector<Bucket>& buckets,
                                                        const OrthogonalizeStage& stage, const Precision& precision,
                                                        const Blas& blas, Carver& scratch);

/// The numbers in which a stage is iterated, and how; null where the input is only normalised.
/// `scale` <- what the iteration wants of its input.
DType iteration_type(const OrthogonalizeStage& stage, DType compute, const Card& card);
std::unique_ptr<Orthogonalizer> make_iteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                               DType dtype, const Card& card, Carver& scratch, InputScale& scale);

/// out[i] <- NS(in[i]), outside any step; all of one shape. Returns when it is done.
void orthogonalize(const Card& card, std::span<const MatrixView> in, std::span<const MatrixView> out,
                   const OrthogonalizeStage& stage, cudaStream_t stream);

/// Whether the Gram form can hold these coefficients: b / c goes on a diagonal in 16 bits.
bool fits_gram_form(const OrthogonalizeStage& stage);

}  // namespace trasmuon::cuda
