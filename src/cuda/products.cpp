// SPDX-License-Identifier: Apache-2.0
#include "cuda/products.h"

#include <cudaTypedefs.h>

#include <algorithm>

#include "cuda/check.h"
#include "cuda/products_sm90.h"

namespace trasmuon::cuda {
namespace {

PFN_cuTensorMapEncodeTiled_v12000 tensor_map_encoder() {
  // Through the runtime, so that nothing has to be linked against the driver.
  static const auto encoder = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
          "finding cuTensorMapEncodeTiled");
    if (found != cudaDriverEntryPointSuccess)
      throw Error("cuda: the driver has no cuTensorMapEncodeTiled (needs 12.0)");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  return encoder;
}

/// Boxes of 64 columns (128 bytes, swizzled) and `box_rows` rows.
CUtensorMap tensor_map(const HalfMatrices& x, int box_rows, bool bfloat16) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(x.cols), static_cast<cuuint64_t>(x.rows),
                              static_cast<cuuint64_t>(x.batch)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(x.row_stride) * 2, static_cast<cuuint64_t>(x.batch_stride) * 2};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows), 1}, steps[] = {1, 1, 1};
  const CUresult result = tensor_map_encoder()(
      &map, bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, x.data, sizes, strides,
      box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) throw Error("cuda: cuTensorMapEncodeTiled failed with " + std::to_string(result));
  return map;
}

CUtensorMap diagonal_map(const HalfMatrices& x, int box_rows, bool bfloat16) {
  const int blocks = (x.rows + 127) / 128;
  return tensor_map({x.diagonal_blocks, 128, 128, 128, x.batch * blocks, 128 * 128}, box_rows, bfloat16);
}

Problem problem_of(const Product& product, bool bfloat16) {
  using Form = Product::Form;
  Problem p{};
  p.rows = product.out.rows;
  p.cols = product.out.cols;
  p.depth = product.form == Form::gram_columns ? product.a.rows : product.a.cols;
  p.symmetric = product.form != Form::left && product.form != Form::right;
  p.a_by_column = product.form == Form::gram_columns;
  p.b_by_column = product.form == Form::gram_columns || product.form == Form::left;
  p.a = tensor_map(product.a, p.a_by_column ? 64 : 128, bfloat16);
  p.b = tensor_map(product.b, p.b_by_column ? 64 : 128, bfloat16);
  p.out = tensor_map(product.out, 64, bfloat16);
  p.shifted_b = product.shifted_b;
  p.write_shifted = product.write_shifted;
  if (p.shifted_b) p.b_diagonal = diagonal_map(product.b, 128, bfloat16);
  if (p.write_shifted) p.out_diagonal = diagonal_map(product.out, 64, bfloat16);
  p.row_squares = product.row_squares;
  p.alpha = product.alpha;
  p.delta = product.delta;
  p.shift = product.shift;
  p.row_blocks = (p.rows + 127) / 128;
  if (p.symmetric) {
    for (int i = 0; i < p.row_blocks; ++i) p.wide_tiles += (i + 1) / 2;
    p.narrow_tiles = (p.row_blocks + 1) / 2;
  } else {
    p.wide_tiles = p.row_blocks * ((p.cols + 255) / 256);
  }
  return p;
}

}  // namespace

ProductLaunch::ProductLaunch(const std::vector<Product>& products, bool bfloat16, int multiprocessors)
    : count_(static_cast<int>(products.size())), bfloat16_(bfloat16) {
  std::vector<Problem> problems;
  for (const Product& product : products) problems.push_back(problem_of(product, bfloat16));
  for (std::size_t i = 0; i < problems.size(); ++i) {
    problems[i].first_wide = wide_tiles_;
    wide_tiles_ += problems[i].wide_tiles * products[i].out.batch;
  }
  tiles_ = wide_tiles_;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    problems[i].first_narrow = tiles_;
    tiles_ += problems[i].narrow_tiles * products[i].out.batch;
  }
  blocks_ = std::min(multiprocessors, tiles_);
  const std::size_t bytes = problems.size() * sizeof(Problem);
  problems_ = DeviceMemory(bytes);
  check(cudaMemcpy(problems_.data(), problems.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

void ProductLaunch::enqueue(cudaStream_t stream) const {
  check(launch_products_sm90(reinterpret_cast<const Problem*>(problems_.data()), count_, wide_tiles_, tiles_, blocks_,
                             bfloat16_, stream),
        "launching products");
}

}  // namespace trasmuon::cuda
