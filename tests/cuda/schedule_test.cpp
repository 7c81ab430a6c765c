// SPDX-License-Identifier: Apache-2.0
#include "cuda/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace trasmuon::cuda {
namespace {

HalfMatrices matrices(int rows, int cols, int batch, bool in_slots) {
  return {nullptr, rows, cols, cols, batch, std::int64_t{rows} * cols, nullptr, in_slots};
}

/// A Gram product, a product of squares and one that leaves the rows' squares if asked.
ProductSequence sequence(int rows, int cols, int batch, float* squares) {
  const int n = std::min(rows, cols);
  const HalfMatrices x = matrices(rows, cols, batch, false), r = matrices(n, n, 1, true);
  const bool wide = rows <= cols;
  Product gram{.form = wide ? Product::Form::gram_rows : Product::Form::gram_columns, .a = x, .b = x, .out = r};
  Product last{.form = wide ? Product::Form::left : Product::Form::right,
               .a = wide ? r : x,
               .b = wide ? x : r,
               .out = x,
               .row_squares = squares};
  const Product square{.a = r, .b = r, .out = r};
  return {batch, rows, cols, {{gram}, {square, square}, {last}}};
}

std::vector<int> short_sides(const std::vector<ProductSequence>& sequences) {
  std::vector<int> sides;
  for (const auto& s : sequences)
    sides.insert(sides.end(), static_cast<std::size_t>(s.batch), std::min(s.rows, s.cols));
  return sides;
}

/// Works both lists off from the front, as strictly as one block with one team would.
void expect_no_deadlock(const Schedule& schedule) {
  std::vector<int> counters(static_cast<std::size_t>(schedule.counters), 0);
  const auto reached = [&](int counter, int value) {
    return counter < 0 || counters[static_cast<std::size_t>(counter)] >= value;
  };
  std::size_t tile = 0, item = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (; tile < schedule.tiles.size(); ++tile, moved = true) {
      const Tile& t = schedule.tiles[tile];
      if (!reached(t.wait[0], t.wait_for[0]) || !reached(t.wait[1], t.wait_for[1])) break;
      counters[static_cast<std::size_t>(t.signal)] += kSignalsPerTile;
    }
    for (; item < schedule.items.size(); ++item, moved = true) {
      const PassItem& i = schedule.items[item];
      const int decided = counter_of(i.chunk.matrix, kDecided);
      if (!reached(i.wait, i.wait_for) || (i.kind == PassItem::scale_rows && !reached(decided, 2))) break;
      if (i.signal >= 0) counters[static_cast<std::size_t>(i.signal)] += i.kind == PassItem::decide ? 2 : 1;
    }
  }
  EXPECT_EQ(tile, schedule.tiles.size());
  EXPECT_EQ(item, schedule.items.size());
}

class Schedules : public testing::TestWithParam<int> {};

TEST_P(Schedules, NothingWaitsForWhatComesLater) {
  float squares[1];
  const int multiprocessors = GetParam();
  for (const auto& sequences : std::vector<std::vector<ProductSequence>>{
           {sequence(256, 512, 1, squares)},
           {sequence(1024, 3072, 40, squares)},
           {sequence(300, 300, 7, nullptr), sequence(2048, 256, 50, squares), sequence(1000, 4000, 30, squares)}}) {
    const Windows windows = choose_windows(short_sides(sequences), multiprocessors);
    for (bool fused : {false, true}) {
      const Schedule schedule = make_schedule(sequences, windows, fused, multiprocessors);
      expect_no_deadlock(schedule);
      EXPECT_EQ(schedule.items.empty(), !fused);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Multiprocessors, Schedules, testing::Values(1, 16, 132));

TEST(Schedule, EveryPassCoversEveryElementOnce) {
  const auto sequences = {sequence(700, 300, 5, nullptr)};
  const Schedule schedule = make_schedule(sequences, choose_windows(short_sides(sequences), 4), true, 4);
  std::multiset<std::tuple<int, int, int, int>> seen;
  for (const PassItem& i : schedule.items) seen.insert({i.kind, i.chunk.matrix, i.chunk.row, i.chunk.col});
  for (int m = 0; m < 5; ++m) {
    for (int kind : {PassItem::decide, PassItem::scale_rows}) EXPECT_EQ(seen.count({kind, m, 0, 0}), 1u);
    for (int row = 0; row < 700; row += kChunkRows) {
      for (int col = 0; col < 300; col += kChunkCols) {
        for (int kind : {PassItem::read, PassItem::write, PassItem::square_rows, PassItem::apply})
          EXPECT_EQ(seen.count({kind, m, row, col}), 1u) << kind << " " << m << " " << row << " " << col;
      }
    }
  }
}

TEST(Schedule, TilesOfASymmetricResultCoverItsLowerTriangleOnce) {
  for (int n : {64, 128, 200, 256, 300, 640, 1024}) {
    const HalfMatrices r = matrices(n, n, 1, true);
    const std::vector<ProductSequence> sequences = {{1, n, n, {{Product{.a = r, .b = r, .out = r}}}}};
    const Schedule schedule = make_schedule(sequences, {{1}, 1}, false, 4);
    const int blocks = (n + 127) / 128;
    std::vector<int> covered(static_cast<std::size_t>(blocks * (blocks + 1)), 0);
    for (const Tile& t : schedule.tiles) {
      EXPECT_LE(t.b_flips, t.a_flips);
      for (int col = t.col; col < t.col + t.width; col += 128) ++covered[static_cast<std::size_t>(t.row / 128 * (blocks + 1) + col / 128)];
    }
    for (int i = 0; i < blocks; ++i) {
      for (int j = 0; j <= i; ++j) EXPECT_EQ(covered[static_cast<std::size_t>(i * (blocks + 1) + j)], 1) << n << " " << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace trasmuon::cuda
