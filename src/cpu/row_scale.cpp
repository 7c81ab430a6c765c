// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cpu/row_chunks.h"
#include "cpu/step.h"
#include "stages/formulas.h"

namespace trasmuon::cpu {
namespace {

/// Sums the squares of each row of O, in W's orientation.
template <class T>
void square_rows(const Matrix& x, const Intermediates<T>& s, Scratch& scratch) {
  if (x.transposed) column_squares<T>(s.direction, s.row_squares, scratch);
  else row_squares<T>(s.direction, s.row_squares);
}

}  // namespace

std::size_t row_scale_scratch(const Matrix& x) {
  if (!x.transposed) return 0;
  return bytes_of([&](Arena& arena) { return column_partials(x.weight.rows, x.weight.cols, arena); });
}

template <class T>
void row_scale(const Matrix& x, const RowScaleStage& stage, Intermediates<T>& s, Scratch& scratch) {
  square_rows(x, s, scratch);
  T* v_row = static_cast<T*>(x.v_row);
  s.direction_squares = s.base_squares = 0;
  for (std::int64_t i = 0; i < x.m; ++i) {
    v_row[i] = next_row_moment(stage, v_row[i], s.row_squares[i], x.n);  // eq:rowscale_main
    s.row_factor[i] = row_factor(stage, v_row[i]);                       // eq:rowscale_main1
    s.direction_squares += s.row_squares[i];
    s.base_squares += base_squares(s.row_squares[i], s.row_factor[i]);
  }
}

template <class T>
void unit_rows(const Matrix& x, bool norm_needed, Intermediates<T>& s, Scratch& scratch) {
  std::fill_n(s.row_factor, x.m, T(1));
  s.direction_squares = 0;
  if (norm_needed) {
    square_rows(x, s, scratch);
    for (std::int64_t i = 0; i < x.m; ++i) s.direction_squares += s.row_squares[i];
  }
  s.base_squares = s.direction_squares;
}

template void row_scale<float>(const Matrix&, const RowScaleStage&, Intermediates<float>&, Scratch&);
template void row_scale<double>(const Matrix&, const RowScaleStage&, Intermediates<double>&, Scratch&);
template void unit_rows<float>(const Matrix&, bool, Intermediates<float>&, Scratch&);
template void unit_rows<double>(const Matrix&, bool, Intermediates<double>&, Scratch&);

}  // namespace trasmuon::cpu
