/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRASMUON_TESTS_C_API_TENSORS_H
#define TRASMUON_TESTS_C_API_TENSORS_H

#include "trasmuon/c_api.h"

static inline trasmuon_tensor vector_f32(float* data, int64_t size) {
  trasmuon_tensor tensor = {data, TRASMUON_F32, 1, {size}, 0};
  return tensor;
}

static inline trasmuon_tensor matrix_f32(float* data, int64_t rows, int64_t cols) {
  trasmuon_tensor tensor = {data, TRASMUON_F32, 2, {rows, cols}, 0};
  return tensor;
}

static inline trasmuon_parameter parameter(const char* name, trasmuon_tensor weight) {
  trasmuon_parameter p = {sizeof p, name, weight, TRASMUON_LAYOUT_AUTOMATIC, 0, NULL, 0, TRASMUON_CPU, 0, 0};
  return p;
}

/* Values without a pattern, the same in every run. */
static inline void fill(float* data, int count, unsigned seed) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
}

#endif
