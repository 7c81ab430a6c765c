// SPDX-License-Identifier: Apache-2.0
#include "optim/layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "trasmuon/error.h"

namespace trasmuon {
namespace {

std::int64_t product_from(const Shape& shape, std::size_t first) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < shape.rank(); ++i) product *= shape[i];
  return product;
}

[[noreturn]] void refuse(const Parameter& p, const std::string& what) {
  throw Error("parameter '" + p.name + "': " + what);
}

void check_shard(const Parameter& p) {
  const RowShard& shard = *p.shard;
  const std::int64_t here = p.weight.shape[0];
  std::int64_t end = 0;
  if (shard.first_row < 0 || __builtin_add_overflow(shard.first_row, here, &end) || end > shard.total_rows) {
    refuse(p, "shard must lie in its " + std::to_string(shard.total_rows) + " rows, got " + std::to_string(here) +
                  " rows from row " + std::to_string(shard.first_row));
  }
  if (shard.total_rows == 0) refuse(p, "shard: total_rows must be > 0, got 0");
}

ParameterLayout common_layout(const Parameter& p) {
  const bool empty_shard = p.shard && p.weight.shape.rank() > 0 && p.weight.shape[0] == 0;
  if (p.weight.data == nullptr && !empty_shard) refuse(p, "weight has no data");
  if (p.weight.dtype == DType::i64) refuse(p, "weight dtype must be f64, f32, bf16 or f16, got i64");
  if (p.weight.shape.rank() == 0) refuse(p, "weight shape must have at least one dimension, got []");
  if (p.shard) check_shard(p);
  if (p.weight.shape.elements() == 0 && !(empty_shard && product_from(p.weight.shape, 1) > 0)) {
    refuse(p, "weight must not be empty, got shape " + to_string(p.weight.shape));
  }
  ParameterLayout layout;
  layout.compute = p.weight.dtype == DType::f64 ? DType::f64 : DType::f32;
  return layout;
}

/// Checks the rows of a tensor against the address space. Afterwards every size, offset and number of bytes derived
/// from them fits 64 bits, also where state or scratch is wider than the tensor.
void check_rows(const std::string& who, const TensorView& x, std::int64_t rows, std::int64_t cols) {
  if (x.row_stride != 0 && x.row_stride < cols) {
    throw Error(who + "row_stride must be 0 or >= " + std::to_string(cols) + " (the row length), got " +
                std::to_string(x.row_stride));
  }
  constexpr std::int64_t kMostElements = std::int64_t{1} << 53;  // 2^56 bytes of f64: the addresses of the largest CPUs
  std::int64_t elements = 0;
  const bool wraps = __builtin_mul_overflow(rows - 1, x.row_stride != 0 ? x.row_stride : cols, &elements) ||
                     __builtin_add_overflow(elements, cols, &elements);
  if (wraps || elements > kMostElements) {
    throw Error(who + "first and last element must be at most 2^53 elements apart, got shape " + to_string(x.shape) +
                " with row_stride " + std::to_string(x.row_stride));
  }
  std::uintptr_t end = 0;
  const std::uintptr_t bytes = static_cast<std::uintptr_t>(elements) * size_of(x.dtype);
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(x.data), bytes, &end)) {
    throw Error(who + "data must be followed by " + std::to_string(bytes) + " bytes of addresses, got shape " +
                to_string(x.shape) + " with row_stride " + std::to_string(x.row_stride));
  }
}
void check_rows(const Parameter& p, std::int64_t rows, std::int64_t cols) {
  check_rows("parameter '" + p.name + "': ", p.weight, rows, cols);
}

}  // namespace

std::vector<std::int64_t> equal_blocks(std::int64_t rows, std::int64_t count) {
  if (count <= 0 || rows <= 0 || rows % count != 0) {
    throw Error("equal_blocks: count must divide rows, got " + std::to_string(count) + " blocks of " +
                std::to_string(rows) + " rows");
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), rows / count);
}

ParameterLayout layout_for_matrix_rule(const Parameter& p) {
  ParameterLayout layout = common_layout(p);
  const Shape& shape = p.weight.shape;
  if (shape.rank() < 2) {
    refuse(p, "a matrix rule needs at least two dimensions, got shape " + to_string(shape) + "; use adamw");
  }
  const bool as_batch = p.layout == Layout::batch || (p.layout == Layout::automatic && shape.rank() == 3);
  if (p.layout == Layout::batch && shape.rank() != 3) {
    refuse(p, "layout batch needs three dimensions, got shape " + to_string(shape));
  }
  layout.batch = as_batch ? shape[0] : 1;
  const std::size_t first = as_batch ? 1 : 0;
  const std::int64_t rows = shape[first], cols = product_from(shape, first + 1);
  check_rows(p, layout.batch * rows, cols);
  layout.transposed = p.transposed;
  layout.cut = p.shard && !as_batch;
  if (layout.cut && p.transposed) {
    refuse(p,
           "a weight stored [in, out] cannot be sharded along its first dimension, the columns of W; shard it along "
           "the second, keep it whole or store it [out, in]");
  }
  layout.m = p.transposed ? cols : layout.cut ? p.shard->total_rows : rows;
  layout.n = p.transposed ? rows : cols;
  layout.rows = layout.cut ? RowRange{p.shard->first_row, rows} : RowRange{0, layout.m};
  layout.blocks = p.row_blocks.empty() ? std::vector{layout.m} : p.row_blocks;
  std::int64_t sum = 0;
  bool wraps = false;
  for (std::int64_t size : layout.blocks) {
    if (size <= 0) refuse(p, "row_blocks must be > 0, got " + std::to_string(size));
    wraps |= __builtin_add_overflow(sum, size, &sum);
  }
  if (wraps || sum != layout.m) {
    refuse(p, "row_blocks must sum to the " + std::to_string(layout.m) + " output rows, got " +
                  (wraps ? "more than 64 bits hold" : std::to_string(sum)));
  }
  return layout;
}

ParameterLayout layout_for_adamw(const Parameter& p) {
  ParameterLayout layout = common_layout(p);
  const Shape& shape = p.weight.shape;
  if (!p.row_blocks.empty()) refuse(p, "row_blocks have no meaning under adamw");
  // Elementwise: rows are only what row_stride separates.
  const bool as_batch = shape.rank() == 3 && p.layout != Layout::flatten;
  layout.m = shape.rank() == 1 ? 1 : as_batch ? shape[0] * shape[1] : shape[0];
  layout.n = shape.rank() == 1 ? shape[0] : product_from(shape, as_batch ? 2 : 1);
  layout.rows = {0, layout.m};
  check_rows(p, layout.m, layout.n);
  layout.blocks = {layout.m};
  return layout;
}

RowRange ParameterLayout::block_rows(std::size_t block) const {
  const std::int64_t before =
      std::accumulate(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(block), std::int64_t{0});
  const std::int64_t first = std::clamp(before - rows.first, std::int64_t{0}, rows.count);
  const std::int64_t last = std::clamp(before + blocks[block] - rows.first, std::int64_t{0}, rows.count);
  return {first, last - first};
}

MatrixView slice(const ParameterLayout& layout, const TensorView& tensor, std::int64_t entry, std::size_t block) {
  const std::int64_t stride = tensor.row_stride != 0 ? tensor.row_stride : layout.stored_cols();
  const auto [before, size] = layout.block_rows(block);
  const std::int64_t offset = entry * layout.stored_rows() * stride + (layout.transposed ? before : before * stride);
  return {.data = static_cast<char*>(tensor.data) + offset * static_cast<std::int64_t>(size_of(tensor.dtype)),
          .dtype = tensor.dtype,
          .rows = layout.transposed ? layout.n : size,
          .cols = layout.transposed ? size : layout.n,
          .row_stride = stride};
}

void check_gradient(const Parameter& parameter, const ParameterLayout& layout, const TensorView& gradient) {
  const std::string who = "gradient of '" + parameter.name + "': ";
  const TensorView& weight = parameter.weight;
  if (!(gradient.shape == weight.shape)) {
    throw Error(who + "shape must be " + to_string(weight.shape) + ", got " + to_string(gradient.shape));
  }
  if (gradient.dtype == DType::i64) throw Error(who + "dtype must be f64, f32, bf16 or f16, got i64");
  if ((gradient.dtype == DType::f64) != (weight.dtype == DType::f64)) {
    throw Error(who + "dtype must be " + (weight.dtype == DType::f64 ? "f64, as the weight's" : "f32, bf16 or f16") +
                ", got " + to_string(gradient.dtype));
  }
  check_rows(who, gradient, layout.batch * layout.stored_rows(), layout.stored_cols());
}

}  // namespace trasmuon
