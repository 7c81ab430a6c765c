// SPDX-License-Identifier: Apache-2.0
#include "cuda/products.h"

#include <cudaTypedefs.h>

#include <algorithm>
#include <limits>

#include "cuda/check.h"

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

/// Boxes of 64 rows and 64 columns (128 bytes, swizzled).
CUtensorMap tensor_map(const HalfMatrices& x, bool bfloat16) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(x.cols), static_cast<cuuint64_t>(x.rows),
                              static_cast<cuuint64_t>(x.batch)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(x.row_stride) * 2, static_cast<cuuint64_t>(x.batch_stride) * 2};
  const cuuint32_t box[] = {64, 64, 1}, steps[] = {1, 1, 1};
  const CUresult result = tensor_map_encoder()(
      &map, bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, x.data, sizes, strides,
      box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) throw Error("cuda: cuTensorMapEncodeTiled failed with " + std::to_string(result));
  return map;
}

/// The blocks one under the other.
CUtensorMap diagonal_map(const HalfMatrices& x, bool bfloat16) {
  HalfMatrices blocks = x;
  blocks.data = x.diagonal_blocks;
  blocks.rows = 128 * diagonal_block_count(x.rows);
  blocks.cols = blocks.row_stride = 128;
  return tensor_map(blocks, bfloat16);
}

bool is_symmetric(const Product& product) {
  return product.form != Product::Form::left && product.form != Product::Form::right;
}

ProductMaps maps_of(const Product& product, bool bfloat16) {
  ProductMaps maps{};
  maps.a = tensor_map(product.a, bfloat16);
  maps.b = tensor_map(product.b, bfloat16);
  maps.out = tensor_map(product.out, bfloat16);
  if (product.shifted_b) maps.b_diagonal = diagonal_map(product.b, bfloat16);
  if (product.write_shifted) maps.out_diagonal = diagonal_map(product.out, bfloat16);
  return maps;
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// body(row, col, width) for the tiles of a product: 256 columns each, but 128 where a symmetric
/// result ends on the diagonal, these last. Bands of rows go together, for the cache's sake.
template <class Body>
void for_each_tile(const Product& product, Body&& body) {
  constexpr int kBand = 8 * 128;
  const int rows = product.out.rows, cols = product.out.cols;
  const bool symmetric = is_symmetric(product);
  for (int band = 0; band < rows; band += kBand) {
    for (int col = 0; col < cols; col += 256) {
      for (int row = band; row < std::min(band + kBand, rows); row += 128) {
        if (!symmetric || col + 128 <= row) body(row, col, 256);
      }
    }
  }
  for (int row = 0; symmetric && row < rows; row += 256) body(row, row, 128);
}

/// The step from which on an operand is read by columns: `at` is the tile's row or column.
std::int16_t flips_at(Product::Form form, bool left_operand, int at) {
  using Form = Product::Form;
  constexpr std::int16_t kNever = std::numeric_limits<std::int16_t>::max();
  const auto beyond_diagonal = static_cast<std::int16_t>((at / 256 + 1) * 4);
  switch (form) {
    case Form::gram_rows: return kNever;
    case Form::gram_columns: return 0;
    case Form::symmetric: return beyond_diagonal;
    case Form::left: return left_operand ? beyond_diagonal : std::int16_t{0};
    default: return left_operand ? kNever : beyond_diagonal;
  }
}

Tile tile_of(const Product& product, int row, int col, int width, int index, int slot) {
  const auto which = [&](const HalfMatrices& x) { return x.in_slots ? slot : index; };
  const int depth = product.form == Product::Form::gram_columns ? product.a.rows : product.a.cols;
  Tile t{};
  t.a = which(product.a);
  t.b = which(product.b);
  t.out = which(product.out);
  t.row = row;
  t.col = col;
  t.width = static_cast<std::int16_t>(width);
  t.steps = static_cast<std::int16_t>(ceil_div(depth, 64));
  t.a_flips = flips_at(product.form, true, row);
  t.b_flips = flips_at(product.form, false, col);
  t.symmetric = is_symmetric(product);
  t.shifted_b = product.shifted_b;
  t.write_shifted = product.write_shifted;
  t.alpha = product.alpha;
  t.delta = product.delta;
  t.shift = product.shift;
  t.rows = product.out.rows;
  if (product.row_squares != nullptr)
    t.row_squares = product.row_squares + (std::int64_t{t.out} * row_square_tiles(product.out.cols) + col / 256) * t.rows;
  t.wait[0] = t.wait[1] = -1;
  return t;
}

/// Tiles of all matrices, window by window, phase by phase. Counter m counts what is stored of matrix m.
struct Schedule {
  struct Member {
    const ProductSequence* sequence;
    int first_maps;
    int index;     // within its shape
    int done = 0;  // what its counter will have reached
  };
  std::vector<ProductMaps> maps;
  std::vector<Member> members;
  std::vector<Tile> tiles;

  Schedule(const std::vector<ProductSequence>& sequences, const Windows& windows, bool bfloat16) {
    for (const ProductSequence& sequence : sequences) {
      const int first = static_cast<int>(maps.size());
      for (const auto& phase : sequence.phases) {
        for (const Product& product : phase) maps.push_back(maps_of(product, bfloat16));
      }
      for (int b = 0; b < sequence.batch; ++b) members.push_back({&sequence, first, b});
    }
    std::vector<int> slot_users(static_cast<std::size_t>(windows.slots), -1);
    int first = 0;
    for (int size : windows.sizes) {
      add_window(first, size, slot_users);
      first += size;
    }
  }

 private:
  Member& member(int m) { return members[static_cast<std::size_t>(m)]; }

  void add_window(int first, int size, std::vector<int>& slot_users) {
    const std::size_t phases = member(first).sequence->phases.size();
    std::vector<int> next_maps;
    for (int m = first; m < first + size; ++m) next_maps.push_back(member(m).first_maps);
    for (std::size_t phase = 0; phase < phases; ++phase) {
      for (int slot = 0; slot < size; ++slot) {
        const int m = first + slot;
        const int reached = member(m).done;
        for (const Product& product : member(m).sequence->phases[phase]) {
          for_each_tile(product, [&](int row, int col, int width) {
            Tile t = tile_of(product, row, col, width, member(m).index, slot);
            t.maps = next_maps[static_cast<std::size_t>(slot)];
            if (phase > 0) {
              t.wait[0] = m;
              t.wait_for[0] = reached;
            }
            const int user = slot_users[static_cast<std::size_t>(slot)];
            if (phase == 0 && user >= 0) {
              t.wait[1] = user;
              t.wait_for[1] = member(user).done;
            }
            t.signal = m;
            tiles.push_back(t);
            member(m).done += kSignalsPerTile;
          });
          ++next_maps[static_cast<std::size_t>(slot)];
        }
      }
    }
    for (int slot = 0; slot < size; ++slot) slot_users[static_cast<std::size_t>(slot)] = first + slot;
  }
};

template <class T>
DeviceMemory upload(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  check(cudaMemcpy(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  return memory;
}

}  // namespace

Windows choose_windows(const std::vector<int>& short_sides, int multiprocessors) {
  constexpr double kWaves = 2.25;  // a tile waits for what was begun two tiles of time before
  Windows windows;
  double tiles = 0;
  for (int n : short_sides) {
    if (windows.sizes.empty() || tiles >= kWaves * multiprocessors) {
      windows.sizes.push_back(0);
      tiles = 0;
    }
    const double blocks = diagonal_block_count(n);
    tiles += (blocks * blocks + 2 * blocks) / 4;
    windows.slots = std::max(windows.slots, ++windows.sizes.back());
  }
  return windows;
}

ProductLaunch::ProductLaunch(const std::vector<ProductSequence>& sequences, const Windows& windows, bool bfloat16,
                             int multiprocessors)
    : bfloat16_(bfloat16) {
  const Schedule schedule(sequences, windows, bfloat16);
  maps_ = upload(schedule.maps);
  tiles_ = upload(schedule.tiles);
  tile_count_ = static_cast<int>(schedule.tiles.size());
  blocks_ = std::min(multiprocessors, tile_count_);
  counters_ = DeviceMemory((schedule.members.size() + 1) * sizeof(unsigned));
}

void ProductLaunch::enqueue(cudaStream_t stream) const {
  check(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), stream), "cudaMemsetAsync");
  auto* counters = reinterpret_cast<unsigned*>(counters_.data());
  const ProductTables tables{reinterpret_cast<const ProductMaps*>(maps_.data()),
                             reinterpret_cast<const Tile*>(tiles_.data()), tile_count_, counters, counters + 1};
  check(launch_products_sm90(tables, blocks_, bfloat16_, stream), "launching products");
}

}  // namespace trasmuon::cuda
