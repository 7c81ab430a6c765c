// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cpu/row_chunks.h"
#include "cpu/step.h"

// Column energies of the gradient or of O_base. Those of the momentum come from the momentum's own pass.
namespace trasmuon::cpu {
namespace {

/// Of each chunk of rows: sums and one row in the compute type.
template <class T>
struct Partial {
  double* energy;
  T* row;
};

template <class T>
Partial<T> partial_sums(const Matrix& x, Arena& arena) {
  const RowChunks chunks(x.weight.rows, x.weight.cols);
  return {arena.take<double>(chunks.count * x.weight.cols), arena.take<T>(chunks.count * x.weight.cols)};
}

/// s.column_energy <- E_j of the matrix whose stored row i read(i, row) writes to `row`.          eq:col_energy
template <class T, class Read>
void column_energies(const Matrix& x, Intermediates<T>& s, Scratch& scratch, Read&& read) {
  const auto& kernel = kernels<T>();
  const std::int64_t cols = x.weight.cols;
  const RowChunks chunks(x.weight.rows, cols);
  const Partial<T> partial = scratch.lay_out([&](Arena& arena) { return partial_sums<T>(x, arena); });
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
    double* energy = partial.energy + chunk * cols;
    T* row = partial.row + chunk * cols;
    std::fill_n(energy, cols, 0.0);
    for (std::int64_t i = first; i < last; ++i) {
      read(i, row);
      if (x.transposed) s.column_energy[i] = kernel.sum_squares(row, cols);
      else kernel.add_squares(row, energy, cols);
    }
  });
  if (!x.transposed) add_chunks(partial.energy, chunks.count, cols, s.column_energy);
}

}  // namespace

template <class T>
std::size_t energy_scratch(const Matrix& x) {
  return bytes_of([&](Arena& arena) { return partial_sums<T>(x, arena); });
}

template <class T>
void gradient_energy(const Matrix& x, Intermediates<T>& s, Scratch& scratch) {
  const auto load = kernels<T>().load[static_cast<int>(x.gradient.dtype)];
  column_energies(x, s, scratch, [&](std::int64_t i, T* row) { load(x.gradient.row_bytes(i), row, x.gradient.cols); });
}

template <class T>
void direction_energy(const Matrix& x, Intermediates<T>& s, Scratch& scratch) {
  column_energies(x, s, scratch, [&](std::int64_t i, T* row) {
    const T* o = s.direction.template row<T>(i);
    for (std::int64_t j = 0; j < x.weight.cols; ++j) row[j] = s.row_factor[x.transposed ? j : i] * o[j];
  });
}

template std::size_t energy_scratch<float>(const Matrix&);
template std::size_t energy_scratch<double>(const Matrix&);
template void gradient_energy<float>(const Matrix&, Intermediates<float>&, Scratch&);
template void gradient_energy<double>(const Matrix&, Intermediates<double>&, Scratch&);
template void direction_energy<float>(const Matrix&, Intermediates<float>&, Scratch&);
template void direction_energy<double>(const Matrix&, Intermediates<double>&, Scratch&);

}  // namespace trasmuon::cpu
