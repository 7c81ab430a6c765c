// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/small_form.h"

#include <algorithm>

#include "cuda/hopper/small_kernel.h"
#include "cuda/newton_schulz/gram_form.h"
#include "cuda/runtime/device_memory.h"

namespace trasmuon::cuda {
namespace {

std::vector<SmallStep> steps_of(const std::vector<NewtonSchulzTriple>& triples, DType dtype) {
  const std::vector<bool> restarts = gram_restarts(triples, dtype);
  std::vector<SmallStep> steps;
  for (const NewtonSchulzTriple& t : triples) {
    steps.push_back(
        {static_cast<float>(t.a), static_cast<float>(t.b), static_cast<float>(t.c), restarts[steps.size()]});
  }
  return steps;
}

/// The matrices whose short side is in (above, up_to], longest first, because they take longest.
std::vector<SmallMatrix> matrices_of(const std::vector<Bucket>& buckets, int above, int up_to) {
  std::vector<SmallMatrix> matrices;
  for (const Bucket& b : buckets) {
    if (b.short_side() <= above || b.short_side() > up_to) continue;
    const std::size_t elements = std::size_t(b.rows) * b.row_stride;
    const std::size_t squares = std::size_t(b.rows) * row_square_tiles(b.cols);
    for (int k = 0; k < b.batch; ++k) {
      matrices.push_back({.x = static_cast<std::uint16_t*>(b.x) + k * elements,
                          .row_squares = b.row_squares == nullptr ? nullptr : b.row_squares + k * squares,
                          .rows = b.rows,
                          .cols = b.cols,
                          .row_stride = b.row_stride,
                          .norm = static_cast<float>(half_range_norm(b))});
    }
  }
  std::stable_sort(matrices.begin(), matrices.end(), [](const SmallMatrix& a, const SmallMatrix& b) {
    return std::max(a.rows, a.cols) > std::max(b.rows, b.cols);
  });
  return matrices;
}

class SmallForm final : public Iteration {
 public:
  SmallForm(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage, DType dtype)
      : bfloat16_(dtype == DType::bf16),
        step_count_(static_cast<int>(stage.triples.size())),
        steps_(uploaded(steps_of(stage.triples, dtype))) {
    add_launch(matrices_of(buckets, kBoxSide, kSmallSide), kSmallSide);
    add_launch(matrices_of(buckets, 0, kBoxSide), kBoxSide);
  }

  void enqueue(cudaStream_t stream) override {
    for (const Launch& launch : launches_) {
      check(launch_small_kernel(launch.matrices.as<const SmallMatrix>(), launch.count, launch.side,
                                steps_.as<const SmallStep>(), step_count_, bfloat16_, stream),
            "launching the small-matrix kernel");
    }
  }
  bool writes_row_squares() const override { return true; }

 private:
  void add_launch(const std::vector<SmallMatrix>& matrices, int side) {
    if (!matrices.empty()) launches_.push_back({side, static_cast<int>(matrices.size()), uploaded(matrices)});
  }

  struct Launch {
    int side, count;
    DeviceMemory matrices;
  };

  bool bfloat16_;
  int step_count_;
  DeviceMemory steps_;
  std::vector<Launch> launches_;
};

}  // namespace

std::unique_ptr<Iteration> make_small_form(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                           DType dtype) {
  return std::make_unique<SmallForm>(buckets, stage, dtype);
}

}  // namespace trasmuon::cuda
