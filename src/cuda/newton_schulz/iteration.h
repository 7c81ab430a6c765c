// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace trasmuon::cuda {

/// Matrices of one stored shape whose iterates lie one after the other: element (b, i, j) of X is
/// x[(b * rows + i) * row_stride + j].
struct Bucket {
  int rows = 0, cols = 0, batch = 0;
  int row_stride = 0;
  void* x = nullptr;     ///< input
  void* o = nullptr;     ///< output, laid out like x
  bool in_place = true;  ///< o is x
  float* row_squares =
      nullptr;  ///< where to write row squares: [batch, row_square_tiles(cols), rows]; null: not wanted
  int short_side() const { return rows < cols ? rows : cols; }
  int long_side() const { return rows < cols ? cols : rows; }
};

/// The Newton-Schulz iteration on buckets: planned once, enqueued at every step.
class Iteration {
 public:
  virtual ~Iteration() = default;
  virtual void enqueue(cudaStream_t stream) = 0;
  /// Whether it writes the row squares of the buckets that want them.
  virtual bool writes_row_squares() const { return false; }
};

}  // namespace trasmuon::cuda
