// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "stages/matrix.h"
#include "trasmuon/optimizer.h"

namespace trasmuon {

/// Rows [first, first + count) of a matrix.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// How a parameter's memory splits into the matrices that are stepped one by one.
struct ParameterLayout {
  std::int64_t batch = 1;
  std::int64_t m = 0;  ///< rows (out) of one matrix of the batch, all blocks together, also those on other ranks
  std::int64_t n = 0;  ///< columns (in)
  bool transposed = false;
  std::vector<std::int64_t> blocks;  ///< sizes along m; one entry when not split
  DType compute = DType::f32;
  bool cut = false;  ///< rows of the matrices may be on other ranks; never with `transposed` or a batch
  RowRange rows;     ///< of the m rows, those in memory: all, unless `cut`

  std::int64_t stored_rows() const { return transposed ? n : rows.count; }
  std::int64_t stored_cols() const { return transposed ? m : n; }
  /// Returns the rows of a block that are in memory, counted from the first row in memory.
  RowRange block_rows(std::size_t block) const;
  std::int64_t matrices() const { return batch * static_cast<std::int64_t>(blocks.size()); }
};

/// Reads a parameter for a matrix rule, or for AdamW (any shape, never split). Throws
/// Error naming the parameter on anything that cannot be read that way.
ParameterLayout layout_for_matrix_rule(const Parameter& parameter);
ParameterLayout layout_for_adamw(const Parameter& parameter);

/// Returns the matrix of batch entry `entry` and row block `block` inside a tensor that is stored like the parameter's
/// weight.
MatrixView slice(const ParameterLayout& layout, const TensorView& tensor, std::int64_t entry, std::size_t block);

/// Throws Error if the gradient does not fit its parameter.
void check_gradient(const Parameter& parameter, const ParameterLayout& layout, const TensorView& gradient);

}  // namespace trasmuon
