// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "trasmuon/error.h"

namespace trasmuon::cuda {
namespace {

HalfMatrices matrices(int rows, int cols, int batch, bool in_slots) {
  return {nullptr, rows, cols, cols, batch, std::int64_t{rows} * cols, nullptr, in_slots};
}

/// A Gram product, two products of squares, and one with a square.
ProductSequence sequence(int rows, int cols, int batch) {
  const int n = std::min(rows, cols);
  const HalfMatrices x = matrices(rows, cols, batch, false), r = matrices(n, n, 1, true);
  const bool wide = rows <= cols;
  const Product gram{.form = wide ? Product::Form::gram_rows : Product::Form::gram_columns, .a = x, .b = x, .out = r};
  const Product last{
      .form = wide ? Product::Form::left : Product::Form::right, .a = wide ? r : x, .b = wide ? x : r, .out = x};
  const Product square{.a = r, .b = r, .out = r};
  return {batch, {{gram}, {square, square}, {last}}};
}

std::vector<int> short_sides(const std::vector<ProductSequence>& sequences) {
  std::vector<int> sides;
  for (const auto& s : sequences)
    sides.insert(sides.end(), static_cast<std::size_t>(s.batch), s.phases.front().front().out.rows);
  return sides;
}

class Schedules : public testing::TestWithParam<int> {};

/// Takes the tiles strictly in the order of the list, as a single block would.
TEST_P(Schedules, NoTileWaitsForALaterOne) {
  for (const auto& sequences : std::vector<std::vector<ProductSequence>>{
           {sequence(256, 512, 1)},
           {sequence(1024, 3072, 40)},
           {sequence(300, 300, 7), sequence(2048, 256, 50), sequence(1000, 4000, 30)}}) {
    const Windows windows = choose_windows(short_sides(sequences), GetParam());
    const Schedule schedule = make_schedule(sequences, windows);
    std::vector<int> counters(static_cast<std::size_t>(schedule.counters), 0);
    for (std::size_t k = 0; k < schedule.tiles.size(); ++k) {
      const Tile& t = schedule.tiles[k];
      if (t.wait >= 0) {
        ASSERT_GE(counters[static_cast<std::size_t>(t.wait)], t.wait_for) << "tile " << k;
      }
      counters[static_cast<std::size_t>(t.signal)] += kSignalsPerTile;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Multiprocessors, Schedules, testing::Values(1, 16, 132));

TEST(Schedule, TheTilesOfAPhaseWaitForAllOfThePhaseBefore) {
  const std::vector<ProductSequence> sequences = {sequence(512, 1024, 3)};
  const Schedule schedule = make_schedule(sequences, choose_windows(short_sides(sequences), 132));
  std::vector<int> phase_end(3, 0), counters(3, 0);
  int maps = 0;
  for (const Tile& t : schedule.tiles) {
    const auto m = static_cast<std::size_t>(t.signal);
    if (t.maps != maps && (t.maps == 1 || t.maps == 3)) phase_end = counters;  // the next phase of all three
    maps = t.maps;
    EXPECT_EQ(t.wait, t.maps == 0 ? -1 : t.signal);
    if (t.maps > 0) {
      EXPECT_EQ(t.wait_for, phase_end[m]);
    }
    counters[m] += kSignalsPerTile;
  }
}

TEST(Schedule, WindowsHoldAllMatricesInEqualShares) {
  const Windows windows = choose_windows(std::vector<int>(196, 1024), 132);
  EXPECT_EQ(std::accumulate(windows.sizes.begin(), windows.sizes.end(), 0), 196);
  EXPECT_EQ(windows.slots, *std::max_element(windows.sizes.begin(), windows.sizes.end()));
  EXPECT_LE(windows.slots - *std::min_element(windows.sizes.begin(), windows.sizes.end()), 1);
  EXPECT_EQ(choose_windows({128}, 132).slots, 1);
}

TEST(Schedule, TilesOfASymmetricResultCoverItsLowerTriangleOnce) {
  for (int n : {64, 128, 200, 256, 300, 640, 1024}) {
    const HalfMatrices r = matrices(n, n, 1, true);
    const std::vector<ProductSequence> sequences = {{1, {{Product{.a = r, .b = r, .out = r}}}}};
    const Schedule schedule = make_schedule(sequences, {{1}, 1});
    const int blocks = diagonal_block_count(n);
    std::vector<int> covered(static_cast<std::size_t>(blocks * (blocks + 1)), 0);
    for (const Tile& t : schedule.tiles) {
      EXPECT_LE(t.transpose_b_from, t.transpose_a_from);
      EXPECT_EQ(t.width, t.row == t.col ? kTileRows : kTileCols);
      for (int group : {0, 1}) {  // what the kernel multiplies has been fetched, and reaches the diagonal
        EXPECT_LE(columns_of(t, group), t.width);
        EXPECT_EQ(columns_of(t, group), std::min(kTileCols, t.row + kBoxSide * (group + 1) - t.col));
      }
      for (int col = t.col; col < t.col + t.width; col += kTileRows)
        ++covered[static_cast<std::size_t>(t.row / kTileRows * (blocks + 1) + col / kTileRows)];
    }
    for (int i = 0; i < blocks; ++i) {
      for (int j = 0; j <= i; ++j)
        EXPECT_EQ(covered[static_cast<std::size_t>(i * (blocks + 1) + j)], 1) << n << " " << i << " " << j;
    }
  }
}

TEST(Schedule, TilesOfOtherResultsAreWholeWidth) {
  for (const auto& [rows, cols] : {std::pair(300, 700), std::pair(700, 300), std::pair(64, 1024)}) {
    const int n = std::min(rows, cols), last_maps = 3;
    for (const Tile& t : make_schedule({sequence(rows, cols, 2)}, {{2}, 2}).tiles) {
      if (t.maps != last_maps) continue;
      EXPECT_FALSE(on_diagonal(t));
      EXPECT_EQ(t.width, kTileCols);
      EXPECT_EQ(columns_of(t, 0), kTileCols);
      EXPECT_EQ(t.steps, (n + kTileDepth - 1) / kTileDepth);
    }
  }
}

TEST(Schedule, RefusesWhatTheKernelDoesNotDo) {
  const HalfMatrices r = matrices(256, 256, 1, true), x = matrices(256, 512, 1, false);
  float squares = 0;
  const auto schedule = [](const Product& product) { (void)make_schedule({{1, {{product}}}}, {{1}, 1}); };
  EXPECT_THROW(schedule({.a = r, .b = r, .out = r, .row_squares = &squares}), Error);
  EXPECT_THROW(schedule({.form = Product::Form::left, .a = r, .b = x, .out = x, .delta = 1}), Error);
  EXPECT_THROW(schedule({.form = Product::Form::left, .a = r, .b = x, .out = x, .write_shifted = true}), Error);
}

}  // namespace
}  // namespace trasmuon::cuda
