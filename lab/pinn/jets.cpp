// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/jets.h"

namespace trasmuon::lab {

// h = tanh(a), s = h' = 1 - h^2, h'' = -2 h s:  h_x = s a_x,  Lap h = s Lap a + h'' (a_x^2 + a_y^2).
template <class T>
void tanh_jet(const Jet<const T>& a, const Jet<T>& h) {
  const std::int64_t count = h.points * h.width;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const T s = 1 - h.value[i] * h.value[i], q = a.x[i] * a.x[i] + a.y[i] * a.y[i];
    h.x[i] = s * a.x[i];
    h.y[i] = s * a.y[i];
    h.laplacian[i] = s * (a.laplacian[i] - 2 * h.value[i] * q);
  }
}

template <class T>
void tanh_jet_gradient(const Jet<const T>& a, const Jet<const T>& h, const Jet<T>& g, T* bias) {
  for (std::int64_t begin = 0; begin < h.points * h.width; begin += h.width) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < h.width; ++j) {
      const std::int64_t i = begin + j;
      const T hi = h.value[i], ax = a.x[i], ay = a.y[i], gl = g.laplacian[i];
      const T s = 1 - hi * hi, q = ax * ax + ay * ay;
      const T by_s = g.x[i] * ax + g.y[i] * ay + gl * (a.laplacian[i] - 2 * hi * q);
      const T by_value = s * (g.value[i] - 2 * (s * q * gl + hi * by_s));
      g.value[i] = by_value;
      g.x[i] = s * (g.x[i] - 4 * hi * gl * ax);
      g.y[i] = s * (g.y[i] - 4 * hi * gl * ay);
      g.laplacian[i] = s * gl;
      bias[j] += by_value;
    }
  }
}

// Here a_x and a_y are the weights and Lap a = 0.
template <class T>
void coordinate_jet(const CoordinateLayer<const T>& layer, const Jet<T>& h) {
  for (std::int64_t begin = 0; begin < h.points * h.width; begin += h.width) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < h.width; ++j) {
      const std::int64_t i = begin + j;
      const T ax = layer.weight[2 * j], ay = layer.weight[2 * j + 1];
      const T s = 1 - h.value[i] * h.value[i];
      h.x[i] = s * ax;
      h.y[i] = s * ay;
      h.laplacian[i] = -2 * s * h.value[i] * (ax * ax + ay * ay);
    }
  }
}

template <class T>
void coordinate_jet_gradient(const CoordinateLayer<const T>& layer, const T* points, const Jet<const T>& h,
                             const Jet<const T>& g, const CoordinateLayer<T>& gradient) {
  for (std::int64_t n = 0; n < h.points; ++n) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < h.width; ++j) {
      const std::int64_t i = n * h.width + j;
      const T hi = h.value[i], ax = layer.weight[2 * j], ay = layer.weight[2 * j + 1], gl = g.laplacian[i];
      const T s = 1 - hi * hi, q = ax * ax + ay * ay;
      const T by_s = g.x[i] * ax + g.y[i] * ay - 2 * gl * hi * q;
      const T by_value = s * (g.value[i] - 2 * (s * q * gl + hi * by_s));
      gradient.weight[2 * j] += by_value * points[2 * n] + s * (g.x[i] - 4 * hi * gl * ax);
      gradient.weight[2 * j + 1] += by_value * points[2 * n + 1] + s * (g.y[i] - 4 * hi * gl * ay);
      gradient.bias[j] += by_value;
    }
  }
}

#define TRASMUON_INSTANTIATE(T)                                                                         \
  template void tanh_jet(const Jet<const T>&, const Jet<T>&);                                           \
  template void tanh_jet_gradient(const Jet<const T>&, const Jet<const T>&, const Jet<T>&, T*);         \
  template void coordinate_jet(const CoordinateLayer<const T>&, const Jet<T>&);                         \
  template void coordinate_jet_gradient(const CoordinateLayer<const T>&, const T*, const Jet<const T>&, \
                                        const Jet<const T>&, const CoordinateLayer<T>&);
TRASMUON_INSTANTIATE(float)
TRASMUON_INSTANTIATE(double)
#undef TRASMUON_INSTANTIATE

}  // namespace trasmuon::lab
