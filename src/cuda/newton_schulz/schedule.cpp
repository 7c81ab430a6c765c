// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "cuda/runtime/rounding.h"
#include "trasmuon/error.h"

namespace trasmuon::cuda {
namespace {

bool is_symmetric(const Product& product) {
  return product.form != Product::Form::left && product.form != Product::Form::right;
}

/// Calls body(row, col, width) for the tiles of a product. Tiles have kTileCols columns; those of a symmetric result
/// that end on the diagonal have kTileRows and come last. Bands of rows go together, to make better use of the cache.
template <class Body>
void for_each_tile(const Product& product, Body&& body) {
  constexpr int kBand = 8 * kTileRows;
  const int rows = product.out.rows, cols = product.out.cols;
  const bool symmetric = is_symmetric(product);
  for (int band = 0; band < rows; band += kBand) {
    for (int col = 0; col < cols; col += kTileCols) {
      for (int row = band; row < std::min(band + kBand, rows); row += kTileRows) {
        if (!symmetric || col + kTileRows <= row) body(row, col, kTileCols);
      }
    }
  }
  for (int row = 0; symmetric && row < rows; row += kTileCols) body(row, row, kTileRows);
}

/// The step from which an operand is read by columns. `at`: row or column of the tile.
std::int16_t transpose_from(Product::Form form, bool left_operand, int at) {
  using Form = Product::Form;
  constexpr std::int16_t kNever = std::numeric_limits<std::int16_t>::max();
  const auto beyond_diagonal = static_cast<std::int16_t>((at / kTileCols + 1) * (kTileCols / kTileDepth));
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
  t.steps = static_cast<std::int16_t>(ceil_div(depth, kTileDepth));
  t.transpose_a_from = transpose_from(product.form, true, row);
  t.transpose_b_from = transpose_from(product.form, false, col);
  t.symmetric = is_symmetric(product);
  t.shifted_b = product.shifted_b;
  t.write_shifted = product.write_shifted;
  t.alpha = product.alpha;
  t.delta = product.delta;
  t.shift = product.shift;
  t.rows = product.out.rows;
  if (product.row_squares != nullptr)
    t.row_squares =
        product.row_squares + (std::int64_t{t.out} * row_square_tiles(product.out.cols) + col / kTileCols) * t.rows;
  return t;
}

void check_product(const Product& product) {
  if (is_symmetric(product) && product.row_squares != nullptr)
    throw Error("products: row squares of a symmetric result are not computed");
  if (!is_symmetric(product) && (product.delta != 0 || product.write_shifted))
    throw Error("products: only a symmetric result has a diagonal to add to");
}

struct Member {
  const ProductSequence* sequence;
  int number;  // among all matrices; also the index of its counter
  int index;   // within its shape
  int next_maps;
  int stored = 0;  // value of its counter when all tiles so far are stored
};

/// Window by window, phase by phase, matrix by matrix.
void add_tiles(std::vector<Member>& members, const Windows& windows, std::vector<Tile>& tiles) {
  std::vector<const Member*> users(static_cast<std::size_t>(windows.slots), nullptr);  // the last user of each slot
  std::size_t first = 0;
  for (int size : windows.sizes) {
    const std::span<Member> window = std::span(members).subspan(first, static_cast<std::size_t>(size));
    for (std::size_t phase = 0; phase < window.front().sequence->phases.size(); ++phase) {
      for (std::size_t slot = 0; slot < window.size(); ++slot) {
        Member& member = window[slot];
        const Member* before = phase > 0 ? &member : users[slot];  // the one that must be finished first
        const int done = before == nullptr ? 0 : before->stored;
        for (const Product& product : member.sequence->phases[phase]) {
          for_each_tile(product, [&](int row, int col, int width) {
            Tile t = tile_of(product, row, col, width, member.index, static_cast<int>(slot));
            t.maps = member.next_maps;
            t.signal = member.number;
            t.wait = before == nullptr ? -1 : before->number;
            t.wait_for = done;
            tiles.push_back(t);
            member.stored += kSignalsPerTile;
          });
          ++member.next_maps;
        }
      }
    }
    for (std::size_t slot = 0; slot < window.size(); ++slot) users[slot] = &window[slot];
    first += window.size();
  }
}

}  // namespace

Windows choose_windows(const std::vector<int>& short_sides, int multiprocessors) {
  constexpr double kWaves = 4;  // tiles per multiprocessor: a tile waits for tiles that started two tile times earlier
  const auto tiles_of = [](int n) {
    const double blocks = diagonal_block_count(n);
    return (blocks * blocks + 2 * blocks) / 4;
  };
  double all = 0;
  for (int n : short_sides) all += tiles_of(n);
  const double count = std::max(1.0, std::round(all / (kWaves * multiprocessors)));
  Windows windows;
  double before = 0;
  for (int n : short_sides) {
    if (before >= all / count * static_cast<double>(windows.sizes.size())) windows.sizes.push_back(0);
    before += tiles_of(n);
    windows.slots = std::max(windows.slots, ++windows.sizes.back());
  }
  return windows;
}

Schedule make_schedule(const std::vector<ProductSequence>& sequences, const Windows& windows) {
  std::vector<Member> members;
  int maps = 0;
  for (const ProductSequence& sequence : sequences) {
    for (int b = 0; b < sequence.batch; ++b) members.push_back({&sequence, static_cast<int>(members.size()), b, maps});
    for (const auto& phase : sequence.phases) {
      for (const Product& product : phase) check_product(product);
      maps += static_cast<int>(phase.size());
    }
  }
  Schedule schedule;
  schedule.counters = static_cast<int>(members.size());
  add_tiles(members, windows, schedule.tiles);
  return schedule;
}

}  // namespace trasmuon::cuda
