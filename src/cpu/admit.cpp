// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "cpu/row_chunks.h"
#include "cpu/step.h"

namespace trasmuon::cpu {

template <class T>
bool all_usable(const MatrixView& gradient) {
  const auto usable_row = kernels<T>().all_usable[static_cast<int>(gradient.dtype)];
  std::atomic<bool> usable = true;
  for_each_chunk(RowChunks(gradient.rows, gradient.cols), [&](std::int64_t first, std::int64_t last, std::int64_t) {
    for (std::int64_t i = first; i < last; ++i) {
      if (!usable_row(gradient.row_bytes(i), gradient.cols)) usable = false;
    }
  });
  return usable;
}

template <class T>
bool admit(const Matrix& x, bool skip_nonfinite) {
  if (x.gradient.data == nullptr) return false;
  if (!skip_nonfinite || all_usable<T>(x.gradient)) {
    ++*x.step;
    return true;
  }
  ++*x.skipped;
  if (x.diagnostics != nullptr) x.diagnostics->skipped = *x.skipped;
  return false;
}

template bool all_usable<float>(const MatrixView&);
template bool all_usable<double>(const MatrixView&);
template bool admit<float>(const Matrix&, bool);
template bool admit<double>(const Matrix&, bool);

}  // namespace trasmuon::cpu
