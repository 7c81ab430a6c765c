// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "cpu/kernels.h"
#include "cpu/stages.h"

namespace trasmuon::cpu {
namespace {

// Entries above this are refused like NaN and Inf: their squares leave the compute type,
// in which AdamW keeps them, and no sound gradient comes near. One limit for all rules.
template <class T>
constexpr double kLargestSquarable = sizeof(T) == sizeof(double) ? 1e150 : 1e18;

}  // namespace

void CpuStages::admit(std::span<Matrix> batch, bool skip_nonfinite) {
  for (Matrix& x : batch) x.active = x.gradient.data != nullptr;
  if (!skip_nonfinite) return;
  for_each_active(batch, [&]<class T>(Matrix& x) {
    const auto all_within = kernels<T>().all_within[static_cast<int>(x.gradient.dtype)];
    std::atomic<bool> usable = true;
    for_each_chunk(RowChunks(x.gradient.rows, x.gradient.cols),
                   [&](std::int64_t first, std::int64_t last, std::int64_t) {
                     for (std::int64_t i = first; i < last; ++i) {
                       if (!all_within(x.gradient.row_bytes(i), x.gradient.cols, kLargestSquarable<T>)) usable = false;
                     }
                   });
    if (usable) return;
    x.active = false;
    ++*x.skipped;
    if (x.diagnostics != nullptr) x.diagnostics->skipped = *x.skipped;
  });
}

}  // namespace trasmuon::cpu
