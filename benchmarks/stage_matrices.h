// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "optim/rule.h"
#include "stages/backend.h"
#include "workload.h"

namespace trasmuon::bench {

/// Matrices of one shape with the state of one TrasMuon step behind them, so that any
/// stage can be called alone. Enough of them that in turn they come from memory, as in
/// a model, and not from the last cache.
class StageMatrices {
 public:
  StageMatrices(std::int64_t rows, std::int64_t cols);

  Stages& stages() { return backend_->stages(); }
  const MuonPipeline& pipeline() const { return pipeline_; }
  std::int64_t elements() const { return rows_ * cols_; }
  /// The next matrix in turn, with its scratch lent.
  std::span<Matrix> next();

 private:
  struct VectorState {
    std::vector<float> v_row, c_ema, c_last;
    std::vector<double> c_sum;
    double e_ref = 0, gamma_sum = 0;
    std::int64_t step = 0, skipped = 0;
  };
  static constexpr std::size_t kCopies = 8;

  std::int64_t rows_, cols_;
  MuonPipeline pipeline_ = pipeline_of(TrasMuonOptions{});
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  MatrixSet weights_, gradients_, momenta_;
  std::vector<VectorState> states_;
  std::vector<Matrix> matrices_;
  std::size_t turn_ = 0;
};

}  // namespace trasmuon::bench
