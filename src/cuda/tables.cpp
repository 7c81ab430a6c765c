// SPDX-License-Identifier: Apache-2.0
#include "cuda/tables.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace trasmuon::cuda {

DeviceView device_view(const MatrixView& x) { return {x.data, x.row_stride, x.dtype}; }

void set_pointers(const Matrix& x, DeviceMatrix& device) {
  device.weight = device_view(x.weight);
  device.rounded = device_view(x.rounded);
  device.gradient = device_view(x.gradient);
  device.momentum = device_view(x.momentum);
  device.second_moment = device_view(x.second_moment);
  device.v_row = x.v_row;
  device.c_ema = x.c_ema;
  device.c_last = x.c_last;
  device.c_sum = x.c_sum;
  device.e_ref = x.e_ref;
  device.gamma_sum = x.gamma_sum;
  device.eta_average = x.eta_average;
  device.step = x.step;
  device.skipped = x.skipped;
}

std::vector<Chunk> chunks_of(const std::vector<DeviceMatrix>& matrices) {
  std::vector<Chunk> chunks;
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    int index = 0;
    for (int row = 0; row < matrices[k].rows; row += kChunkRows) {
      for (int col = 0; col < matrices[k].cols; col += kChunkCols)
        chunks.push_back({static_cast<int>(k), row, std::min(row + kChunkRows, matrices[k].rows), col, index++});
    }
  }
  return chunks;
}

void DeviceScalars::refresh(const StepScalars& scalars, cudaStream_t stream) {
  std::vector<std::byte> bytes(sizeof scalars);
  std::memcpy(bytes.data(), &scalars, bytes.size());
  if (bytes == last_) return;
  upload(memory_.data(), bytes.data(), bytes.size(), stream);
  last_ = std::move(bytes);
}

}  // namespace trasmuon::cuda
