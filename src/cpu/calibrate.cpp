// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/stages.h"

namespace trasmuon::cpu {

void CpuStages::calibrate(std::span<Matrix> batch, const CalibrateStage& stage, double lr) {
  using Kind = CalibrateStage::Kind;
  for (Matrix& x : batch) {
    if (!x.active) continue;
    const double m = static_cast<double>(x.m), n = static_cast<double>(x.n);
    const double base_norm = std::sqrt(x.base_squares);
    const double aspect = std::sqrt(std::max(1.0, m / n));
    switch (stage.kind) {
      case Kind::none: x.eta_hat = lr; break;
      case Kind::rms: x.eta_hat = lr * stage.scale * std::sqrt(m * n) / (base_norm + stage.eps); break;
      case Kind::keep_norm:
        x.eta_hat =
            lr * aspect * std::sqrt(std::accumulate(x.row_squares, x.row_squares + x.m, 0.0)) / (base_norm + stage.eps);
        break;
      case Kind::original: x.eta_hat = lr * aspect; break;
      case Kind::match_rms_adamw: x.eta_hat = lr * 0.2 * std::sqrt(std::max(m, n)); break;
    }
  }
}

}  // namespace trasmuon::cpu
