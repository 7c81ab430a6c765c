// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "workload.h"

namespace trasmuon::bench {

/// What the card reaches in this run, the limits of every step on it.
struct CudaCeilings {
  double bf16_product = 0, f16_product = 0;  ///< TFLOP/s of cuBLAS on 8192 x 8192
  double copy = 0;                           ///< TB/s, bytes read and written, of a large copy
};

CudaCeilings measure_ceilings();

/// Milliseconds that no version of a TrasMuon step beats by much: Newton-Schulz in the Gram form with one restart
/// and symmetric products, and every byte read and written once.
double floor_milliseconds(std::span<const NamedMatrix> matrices, const CudaCeilings& ceilings);

}  // namespace trasmuon::bench
