// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/products.h"

#include <cudaTypedefs.h>

#include <algorithm>

#include "cuda/newton_schulz/schedule.h"
#include "cuda/runtime/check.h"

namespace trasmuon::cuda {
namespace {

constexpr std::size_t kTickets = 32;  // only the first is used: the ticket has a cache line of its own

PFN_cuTensorMapEncodeTiled_v12000 tensor_map_encoder() {
  // Found through the runtime, so that the library need not be linked with the driver.
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

/// Boxes of so many rows and kBoxSide columns (128 bytes, swizzled).
CUtensorMap tensor_map(const HalfMatrices& x, cuuint32_t box_rows, bool bfloat16) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(x.cols), static_cast<cuuint64_t>(x.rows),
                              static_cast<cuuint64_t>(x.batch)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(x.row_stride) * 2, static_cast<cuuint64_t>(x.batch_stride) * 2};
  const cuuint32_t box[] = {kBoxSide, box_rows, 1}, steps[] = {1, 1, 1};
  const CUresult result = tensor_map_encoder()(
      &map, bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, x.data, sizes, strides,
      box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) throw Error("cuda: cuTensorMapEncodeTiled failed with " + std::to_string(result));
  return map;
}

/// The diagonal blocks, one below the other.
CUtensorMap diagonal_map(const HalfMatrices& x, cuuint32_t box_rows, bool bfloat16) {
  HalfMatrices blocks = x;
  blocks.data = x.diagonal_blocks;
  blocks.rows = kDiagonalBlock * diagonal_block_count(x.rows);
  blocks.cols = blocks.row_stride = kDiagonalBlock;
  return tensor_map(blocks, box_rows, bfloat16);
}

ProductMaps maps_of(const Product& product, bool bfloat16) {
  ProductMaps maps{};
  maps.a = tensor_map(product.a, kTileRows, bfloat16);
  maps.b = tensor_map(product.b, kTileRows, bfloat16);
  maps.a_by_column = tensor_map(product.a, kBoxSide, bfloat16);
  maps.b_by_column = tensor_map(product.b, kBoxSide, bfloat16);
  maps.out = tensor_map(product.out, kBoxSide, bfloat16);
  if (product.shifted_b) maps.b_diagonal = diagonal_map(product.b, kTileRows, bfloat16);
  if (product.write_shifted) maps.out_diagonal = diagonal_map(product.out, kBoxSide, bfloat16);
  return maps;
}

}  // namespace

ProductLaunch::ProductLaunch(const std::vector<ProductSequence>& sequences, const Windows& windows, bool bfloat16,
                             int multiprocessors)
    : bfloat16_(bfloat16) {
  const Schedule schedule = make_schedule(sequences, windows);
  std::vector<ProductMaps> maps;
  for (const ProductSequence& sequence : sequences) {
    for (const auto& phase : sequence.phases) {
      for (const Product& product : phase) maps.push_back(maps_of(product, bfloat16));
    }
  }
  maps_ = uploaded(maps);
  tiles_ = uploaded(schedule.tiles);
  counters_ = DeviceMemory((kTickets + static_cast<std::size_t>(schedule.counters)) * sizeof(unsigned));
  tables_.maps = maps_.as<const ProductMaps>();
  tables_.tiles = tiles_.as<const Tile>();
  tables_.tile_count = static_cast<int>(schedule.tiles.size());
  tables_.ticket = counters_.as<unsigned>();
  tables_.counters = tables_.ticket + kTickets;
  blocks_ = std::min(multiprocessors, tables_.tile_count);
}

void ProductLaunch::enqueue(cudaStream_t stream) const {
  check(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), stream), "cudaMemsetAsync");
  check(launch_product_kernel(tables_, blocks_, bfloat16_, stream), "launching the product kernel");
}

}  // namespace trasmuon::cuda
