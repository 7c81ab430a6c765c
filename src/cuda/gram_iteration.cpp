// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "cuda/kernels.h"
#include "cuda/orthogonalize.h"
#include "cuda/products.h"

namespace trasmuon::cuda {
namespace {

/// Whether R is taken anew from X after this many steps. In 16 bits R's small eigenvalues drown
/// after three steps and may turn negative, which the polynomial then amplifies.
bool restarts_after(std::size_t steps, std::size_t total) { return steps < total && steps % 3 == 2; }

std::size_t passes_over_x(std::size_t steps) {
  std::size_t passes = 1;
  for (std::size_t s = 1; s < steps; ++s) passes += restarts_after(s, steps);
  return passes;
}

/// Where the matrices of a bucket are: X throughout the iteration, all others in the slot that a matrix works in.
struct Workspace {
  Bucket bucket;
  std::array<HalfMatrices, 2> x;
  HalfMatrices r, s, w, q, spare;

  /// `slot` counts, or hands out, the first slot's memory.
  Workspace(const Bucket& b, Carver& slot, std::int64_t slot_elements, int slots) : bucket(b) {
    const auto take = [&](int rows, int cols, int stride) {
      auto* data = slot.take<std::uint16_t>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride));
      return HalfMatrices{data, rows, cols, stride, slots, slot_elements, nullptr, true};
    };
    const int n = b.short_side(), stride = (n + 7) / 8 * 8;
    const std::int64_t elements = std::int64_t{b.rows} * b.row_stride;
    x[0] = {b.x, b.rows, b.cols, b.row_stride, b.batch, elements};
    if (b.in_place) {
      x[1] = take(b.rows, b.cols, b.row_stride);
    } else {
      x[1] = x[0];
      x[1].data = b.o;
    }
    for (HalfMatrices* square : {&r, &s, &w, &q, &spare}) *square = take(n, n, stride);
    r.diagonal_blocks = take(128 * diagonal_block_count(n), 128, 128).data;
  }
};

std::size_t slot_bytes(const std::vector<Bucket>& buckets) {
  std::size_t most = 0;
  for (const Bucket& bucket : buckets) {
    Carver counter(nullptr);
    (void)Workspace(bucket, counter, 0, 0);
    most = std::max(most, counter.used());
  }
  return most;
}

Windows windows_of(const std::vector<Bucket>& buckets, int multiprocessors) {
  std::vector<int> sides;
  for (const Bucket& b : buckets) sides.insert(sides.end(), static_cast<std::size_t>(b.batch), b.short_side());
  return choose_windows(sides, multiprocessors);
}

/// The Gram form: with R = X X^T on the short side, Z = aI + bR + cR^2, Q <- Q Z, R <- Z R Z; X <- Q X
/// at the end and wherever R is taken anew. All of it commutes, so all but X is symmetric.
class GramIteration final : public Orthogonalizer {
 public:
  GramIteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage, DType dtype, int multiprocessors,
                Carver& scratch)
      : triples_(stage.triples) {
    const Windows windows = windows_of(buckets, multiprocessors);
    const std::size_t bytes = slot_bytes(buckets);
    auto* slots = static_cast<std::byte*>(scratch.take_bytes(bytes * static_cast<std::size_t>(windows.slots)));
    std::vector<ProductSequence> sequences;
    for (const Bucket& bucket : buckets) {
      Carver first_slot(slots);
      sequences.push_back(
          {bucket.batch, phases(Workspace(bucket, first_slot, static_cast<std::int64_t>(bytes / 2), windows.slots))});
    }
    launch_.emplace(sequences, windows, dtype == DType::bf16, multiprocessors);
  }

  void enqueue(cudaStream_t stream) override { launch_->enqueue(stream); }
  bool leaves_row_squares() const override { return true; }

 private:
  using Phases = std::vector<std::vector<Product>>;

  Phases phases(Workspace w) const {
    Phases result;
    const std::size_t total = triples_.size();
    std::size_t at = 0;  // which X is current
    bool has_q = false;
    bool scaled = false;  // X has its norm of 1
    result.push_back({gram(w, at, 0)});
    for (std::size_t step = 0; step < total; ++step) {
      const bool last = step + 1 == total, restart = restarts_after(step + 1, total);
      result.push_back({polynomial(w, triples_[step])});
      std::vector<Product> next;
      if (has_q) next.push_back({.a = w.q, .b = w.w, .out = w.spare});
      if (!last && !restart) next.push_back({.a = w.r, .b = w.w, .out = w.s});
      if (!next.empty()) result.push_back(next);
      if (!last && !restart) result.push_back({shifted({.a = w.s, .b = w.w, .out = w.r}, step + 1)});
      std::swap(w.q, has_q ? w.spare : w.w);
      has_q = true;
      if (!last && !restart) continue;
      result.push_back({apply(w, at, !scaled, last)});
      scaled = true;
      has_q = false;
      at = 1 - at;
      if (restart) result.push_back({gram(w, at, step + 1)});
    }
    return result;
  }

  /// R <- X X^T or X^T X, whichever is smaller.
  Product gram(const Workspace& w, std::size_t at, std::size_t step) const {
    const bool wide = w.bucket.rows <= w.bucket.cols;
    Product p{.form = wide ? Product::Form::gram_rows : Product::Form::gram_columns,
              .a = w.x[at],
              .b = w.x[at],
              .out = w.r};
    if (step == 0) p.alpha = static_cast<float>(1 / (norm(w) * norm(w)));
    return shifted(p, step);
  }

  /// W <- aI + cR(R + (b/c) I)
  static Product polynomial(const Workspace& w, const NewtonSchulzTriple& triple) {
    return {.a = w.r,
            .b = w.r,
            .out = w.w,
            .alpha = static_cast<float>(triple.c),
            .delta = static_cast<float>(triple.a),
            .shifted_b = true};
  }

  /// X <- Q X or X Q
  static Product apply(const Workspace& w, std::size_t at, bool normalise, bool last) {
    const bool wide = w.bucket.rows <= w.bucket.cols;
    Product p{.form = wide ? Product::Form::left : Product::Form::right,
              .a = wide ? w.q : w.x[at],
              .b = wide ? w.x[at] : w.q,
              .out = w.x[1 - at]};
    if (normalise) p.alpha = static_cast<float>(1 / norm(w));
    if (last) p.row_squares = w.bucket.row_squares;
    return p;
  }

  /// R's diagonal blocks once more with b/c of the step that will use them.
  Product shifted(Product p, std::size_t step) const {
    p.write_shifted = true;
    p.shift = static_cast<float>(triples_[step].b / triples_[step].c);
    return p;
  }

  static double norm(const Workspace& w) {
    return kHalfRangeRms * std::sqrt(static_cast<double>(w.bucket.rows) * w.bucket.cols);
  }

  std::vector<NewtonSchulzTriple> triples_;
  std::optional<ProductLaunch> launch_;
};

}  // namespace

bool fits_gram_form(const OrthogonalizeStage& stage) {
  for (const NewtonSchulzTriple& triple : stage.triples) {
    if (!(std::abs(triple.b) <= 1e3 * std::abs(triple.c))) return false;
  }
  return !stage.triples.empty();
}

bool gram_form_ends_elsewhere(const OrthogonalizeStage& stage) { return passes_over_x(stage.triples.size()) % 2 == 1; }

std::size_t gram_scratch_bytes(const std::vector<Bucket>& buckets, int multiprocessors) {
  return slot_bytes(buckets) * static_cast<std::size_t>(windows_of(buckets, multiprocessors).slots);
}

std::unique_ptr<Orthogonalizer> make_gram_iteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                                    DType dtype, int multiprocessors, Carver& scratch) {
  return std::make_unique<GramIteration>(buckets, stage, dtype, multiprocessors, scratch);
}

}  // namespace trasmuon::cuda
