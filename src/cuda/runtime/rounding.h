// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon::cuda {

constexpr int ceil_div(std::int64_t a, int b) { return static_cast<int>((a + b - 1) / b); }

/// Rows of matrices in scratch begin at multiples of this many elements: 16 bytes in 16-bit formats, as bulk copies
/// need it.
constexpr int kRowAlignment = 8;
constexpr int aligned_stride(std::int64_t cols) { return ceil_div(cols, kRowAlignment) * kRowAlignment; }

}  // namespace trasmuon::cuda
