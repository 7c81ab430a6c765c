// SPDX-License-Identifier: Apache-2.0
#include "cuda/schedule.h"

#include <algorithm>
#include <limits>

namespace trasmuon::cuda {
namespace {

bool is_symmetric(const Product& product) {
  return product.form != Product::Form::left && product.form != Product::Form::right;
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

/// The chunks of a matrix, in order.
template <class Body>
void for_each_chunk(int matrix, int rows, int cols, Body&& body) {
  int index = 0;
  for (int row = 0; row < rows; row += kChunkRows) {
    for (int col = 0; col < cols; col += kChunkCols) body(Chunk{matrix, row, col, index++});
  }
}

int chunk_count(int rows, int cols) { return ceil_div(rows, kChunkRows) * ceil_div(cols, kChunkCols); }

struct Member {
  const ProductSequence* sequence;
  int first_maps;
  int index;       // within its shape
  int chunks;
  int window = 0;
  int stored = 0;  // what that counter will have reached
  bool squares_left = false;
};

/// Window by window, phase by phase, matrix by matrix.
void add_tiles(std::vector<Member>& members, const Windows& windows, bool fused, std::vector<Tile>& tiles) {
  std::vector<int> users(static_cast<std::size_t>(windows.slots), -1);  // of the slots, so far
  int first = 0;
  for (int size : windows.sizes) {
    std::vector<int> next_maps;
    for (int slot = 0; slot < size; ++slot) next_maps.push_back(members[static_cast<std::size_t>(first + slot)].first_maps);
    const std::size_t phases = members[static_cast<std::size_t>(first)].sequence->phases.size();
    for (std::size_t phase = 0; phase < phases; ++phase) {
      for (int slot = 0; slot < size; ++slot) {
        const int m = first + slot, user = users[static_cast<std::size_t>(slot)];
        Member& member = members[static_cast<std::size_t>(m)];
        const int reached = member.stored;
        for (const Product& product : member.sequence->phases[phase]) {
          for_each_tile(product, [&](int row, int col, int width) {
            Tile t = tile_of(product, row, col, width, member.index, slot);
            t.maps = next_maps[static_cast<std::size_t>(slot)];
            t.signal = counter_of(m, kStored);
            const auto wait = [&](int k, int counter, int value) {
              t.wait[k] = counter;
              t.wait_for[k] = value;
            };
            if (phase > 0) wait(0, counter_of(m, kStored), reached);
            else if (fused) wait(0, counter_of(m, kWritten), member.chunks);
            if (phase == 0 && user >= 0)
              wait(1, counter_of(user, kStored), members[static_cast<std::size_t>(user)].stored);
            tiles.push_back(t);
            member.stored += kSignalsPerTile;
          });
          ++next_maps[static_cast<std::size_t>(slot)];
          member.squares_left |= product.row_squares != nullptr;
        }
      }
    }
    for (int slot = 0; slot < size; ++slot) users[static_cast<std::size_t>(slot)] = first + slot;
    first += size;
  }
}

/// The passes, in groups of matrices that give every team something to do: a group is read while the
/// one before is written, and applied when the products have had a window's time.
class PassOrder {
 public:
  PassOrder(const std::vector<Member>& members, int multiprocessors, std::vector<PassItem>& items)
      : members_(members), items_(items) {
    const int count = static_cast<int>(members.size());
    for (int first = 0; first < count;) {
      int last = first, chunks = 0;
      while (last < count && chunks < multiprocessors * 3 / 2) chunks += member(last++).chunks;
      groups_.push_back({first, last});
      first = last;
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      each(groups_[g], PassItem::read);
      if (g > 1) write(groups_[g - 1]);
      each(groups_[g], PassItem::decide);
      if (g == 0) write(groups_[g]);  // there is nothing to do before
    }
    if (groups_.size() > 1) write(groups_.back());
    apply(count);
  }

 private:
  struct Range {
    int first, last;
  };
  const Member& member(int m) const { return members_[static_cast<std::size_t>(m)]; }

  void each(const Range& range, PassItem::Kind kind) {
    for (int m = range.first; m < range.last; ++m) add(m, kind);
  }

  void write(const Range& range) {
    each(range, PassItem::write);
    int ready = 0;  // the products of the window that is written now will take a while
    while (ready < range.last && member(ready).window + 1 < member(range.last - 1).window) ++ready;
    apply(ready);
  }

  /// All matrices before `last` that are not applied yet; the rows some matrices ahead.
  void apply(int last) {
    constexpr int kAhead = 4;
    for (; applied_ < last; ++applied_) {
      for (; scaled_ < std::min(applied_ + kAhead, last); ++scaled_) {
        if (!member(scaled_).squares_left) add(scaled_, PassItem::square_rows);
        add(scaled_, PassItem::scale_rows);
      }
      add(applied_, PassItem::apply);
    }
  }

  void add(int m, PassItem::Kind kind) {
    const Member& x = member(m);
    PassItem item{kind, {m, 0, 0, 0}, -1, 0, -1};
    const auto after = [&](Counter counter, int value, Counter signal) {
      if (value > 0) item.wait = counter_of(m, counter);
      item.wait_for = value;
      item.signal = counter_of(m, signal);
    };
    switch (kind) {
      case PassItem::read: after(kRead, 0, kRead); break;
      case PassItem::decide: after(kRead, x.chunks, kDecided); break;
      case PassItem::write: after(kDecided, 1, kWritten); break;
      case PassItem::square_rows: after(kStored, x.stored, kSquared); break;
      case PassItem::scale_rows:
        if (x.squares_left) after(kStored, x.stored, kScaled);
        else after(kSquared, x.chunks, kScaled);
        break;
      default:
        after(kScaled, 1, kScaled);
        item.signal = -1;
        break;
    }
    if (kind == PassItem::decide || kind == PassItem::scale_rows) {
      items_.push_back(item);
      return;
    }
    for_each_chunk(m, x.sequence->rows, x.sequence->cols, [&](const Chunk& chunk) {
      item.chunk = chunk;
      items_.push_back(item);
    });
  }

  const std::vector<Member>& members_;
  std::vector<PassItem>& items_;
  std::vector<Range> groups_;
  int scaled_ = 0, applied_ = 0;
};

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

Schedule make_schedule(const std::vector<ProductSequence>& sequences, const Windows& windows, bool fused,
                       int multiprocessors) {
  std::vector<Member> members;
  int maps = 0;
  for (const ProductSequence& sequence : sequences) {
    for (int b = 0; b < sequence.batch; ++b)
      members.push_back({&sequence, maps, b, chunk_count(sequence.rows, sequence.cols)});
    for (const auto& phase : sequence.phases) maps += static_cast<int>(phase.size());
  }
  std::size_t m = 0;
  for (std::size_t w = 0; w < windows.sizes.size(); ++w) {
    for (int k = 0; k < windows.sizes[w]; ++k) members[m++].window = static_cast<int>(w);
  }
  Schedule schedule;
  schedule.counters = counter_of(static_cast<int>(members.size()), Counter{});
  add_tiles(members, windows, fused, schedule.tiles);
  if (fused) PassOrder(members, multiprocessors, schedule.items);
  return schedule;
}

}  // namespace trasmuon::cuda
