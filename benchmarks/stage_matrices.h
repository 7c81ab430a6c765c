// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/step.h"
#include "optim/rule.h"
#include "workload.h"

namespace trasmuon::bench {

/// A matrix after one TrasMuon step, with the intermediates of that step, so that any stage can be called alone.
struct SteppedMatrix {
  std::vector<float> v_row, c_ema, c_last;
  std::vector<double> c_sum;
  double e_ref = 0, gamma_sum = 0;
  std::int64_t step = 0, skipped = 0;
  Matrix matrix;
  cpu::Scratch memory;
  cpu::Intermediates<float> intermediates{};
};

/// Stepped matrices of one shape: enough of them that in turn they come from memory, as in a model, and not from the
/// last cache.
class StageMatrices {
 public:
  StageMatrices(std::int64_t rows, std::int64_t cols);

  const MuonPipeline& plan() const { return plan_; }
  cpu::Scratch& scratch() { return scratch_; }
  std::int64_t elements() const { return rows_ * cols_; }
  SteppedMatrix& next() { return matrices_[turn_++ % kCopies]; }

 private:
  static constexpr std::size_t kCopies = 8;

  std::int64_t rows_, cols_;
  MuonPipeline plan_ = pipeline_of(TrasMuonOptions{});
  MatrixSet weights_, gradients_, momenta_;
  std::vector<SteppedMatrix> matrices_;
  cpu::Scratch scratch_;
  std::size_t turn_ = 0;
};

}  // namespace trasmuon::bench
