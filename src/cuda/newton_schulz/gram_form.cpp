// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/gram_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "cuda/newton_schulz/products.h"
#include "cuda/newton_schulz/schedule.h"
#include "cuda/passes/input_scale.h"
#include "cuda/runtime/rounding.h"

namespace trasmuon::cuda {
namespace {

/// Where the matrices of a bucket are. X has memory of its own; all others are in the slot that a matrix works in.
struct Workspace {
  Bucket bucket;
  std::array<HalfMatrices, 2> x;
  HalfMatrices r, s, w, q, spare;

  /// `slot` counts, or takes, the memory of the first slot.
  Workspace(const Bucket& b, Arena& slot, std::int64_t slot_elements, int slots) : bucket(b) {
    const auto take = [&](int rows, int cols, int stride) {
      auto* data = slot.take<std::uint16_t>(std::int64_t{rows} * stride);
      return HalfMatrices{data, rows, cols, stride, slots, slot_elements, nullptr, true};
    };
    const int n = b.short_side(), stride = aligned_stride(n);
    const std::int64_t elements = std::int64_t{b.rows} * b.row_stride;
    x[0] = {b.x, b.rows, b.cols, b.row_stride, b.batch, elements};
    if (b.in_place) {
      x[1] = take(b.rows, b.cols, b.row_stride);
    } else {
      x[1] = x[0];
      x[1].data = b.o;
    }
    for (HalfMatrices* square : {&r, &s, &w, &q, &spare}) *square = take(n, n, stride);
    r.diagonal_blocks = take(kDiagonalBlock * diagonal_block_count(n), kDiagonalBlock, kDiagonalBlock).data;
  }
};

std::size_t slot_bytes(const std::vector<Bucket>& buckets) {
  std::size_t most = 0;
  for (const Bucket& bucket : buckets) {
    Arena counter;
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

/// With R = X X^T on the short side: Z = aI + bR + cR^2, Q <- Q Z, R <- Z R Z. At the end, and before R is recomputed
/// from X, X <- Q X. R, Z and Q commute, so their products are symmetric.                                   eq:ns_main
class GramForm final : public Iteration {
 public:
  GramForm(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage, DType dtype, int multiprocessors,
           Arena& scratch)
      : triples_(stage.triples), restarts_(gram_restarts(stage.triples, dtype)) {
    const Windows windows = windows_of(buckets, multiprocessors);
    const std::size_t bytes = slot_bytes(buckets);
    auto* slots = static_cast<std::byte*>(scratch.take_bytes(bytes * static_cast<std::size_t>(windows.slots)));
    std::vector<ProductSequence> sequences;
    for (const Bucket& bucket : buckets) {
      Arena first_slot(slots);
      const Workspace workspace(bucket, first_slot, static_cast<std::int64_t>(bytes / 2), windows.slots);
      sequences.push_back({bucket.batch, phases(workspace)});
    }
    launch_.emplace(sequences, windows, dtype == DType::bf16, multiprocessors);
  }

  void enqueue(cudaStream_t stream) override { launch_->enqueue(stream); }
  bool writes_row_squares() const override { return true; }

 private:
  using Phases = std::vector<std::vector<Product>>;

  Phases phases(Workspace w) const {
    Phases result;
    const std::size_t total = triples_.size();
    std::size_t at = 0;  // index of the current X
    bool has_q = false;
    bool scaled = false;  // X has been scaled to norm 1
    result.push_back({gram(w, at, 0)});
    for (std::size_t step = 0; step < total; ++step) {
      const bool last = step + 1 == total, restart = restarts_[step];
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
    Product p{
        .form = wide ? Product::Form::gram_rows : Product::Form::gram_columns, .a = w.x[at], .b = w.x[at], .out = w.r};
    if (step == 0) p.alpha = static_cast<float>(1 / (half_range_norm(w.bucket) * half_range_norm(w.bucket)));
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
    if (normalise) p.alpha = static_cast<float>(1 / half_range_norm(w.bucket));
    if (last) p.row_squares = w.bucket.row_squares;
    return p;
  }

  /// Also writes R's diagonal blocks plus b/c of the step that will use them.
  Product shifted(Product p, std::size_t step) const {
    p.write_shifted = true;
    p.shift = static_cast<float>(triples_[step].b / triples_[step].c);
    return p;
  }

  std::vector<NewtonSchulzTriple> triples_;
  std::vector<bool> restarts_;  // after each step, whether R is recomputed
  std::optional<ProductLaunch> launch_;
};

}  // namespace

bool fits_gram_form(const OrthogonalizeStage& stage) {
  for (const NewtonSchulzTriple& triple : stage.triples) {
    if (!(std::abs(triple.b) <= 1e3 * std::abs(triple.c))) return false;
  }
  return !stage.triples.empty();
}

double half_range_norm(const Bucket& bucket) {
  return kHalfRangeRms * std::sqrt(static_cast<double>(bucket.rows) * bucket.cols);
}

bool gram_form_in_place(const OrthogonalizeStage& stage, DType dtype) {
  return gram_segments(stage.triples, 0, dtype) % 2 == 0;
}

std::size_t gram_form_scratch_bytes(const std::vector<Bucket>& buckets, int multiprocessors) {
  return slot_bytes(buckets) * static_cast<std::size_t>(windows_of(buckets, multiprocessors).slots);
}

std::unique_ptr<Iteration> make_gram_form(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                          DType dtype, int multiprocessors, Arena& scratch) {
  return std::make_unique<GramForm>(buckets, stage, dtype, multiprocessors, scratch);
}

}  // namespace trasmuon::cuda
