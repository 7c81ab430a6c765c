// SPDX-License-Identifier: Apache-2.0
#include "cpu/step.h"
#include "stages/formulas.h"

namespace trasmuon::cpu {

template <class T>
void calibrate(const Matrix& x, const CalibrateStage& stage, double lr, Intermediates<T>& s) {
  s.eta_hat = calibrated_step(stage, lr, x.whole_m, x.n, s.direction_squares, s.base_squares);  // eq:tr_cal_main
}

template void calibrate<float>(const Matrix&, const CalibrateStage&, double, Intermediates<float>&);
template void calibrate<double>(const Matrix&, const CalibrateStage&, double, Intermediates<double>&);

}  // namespace trasmuon::cpu
