// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace trasmuon::lab {

/// A function's value, its derivatives by x and by y, and its Laplacian, at n points in each of `width` units: the four
/// components of a contiguous tensor [4, n, width], f32 or f64.
template <class T>
struct Jet {
  T *value, *x, *y, *laplacian;
  std::int64_t points, width;

  explicit Jet(const at::Tensor& tensor) : points(tensor.size(1)), width(tensor.size(2)) {
    value = tensor.data_ptr<std::remove_const_t<T>>();
    x = value + points * width, y = x + points * width, laplacian = y + points * width;
  }
};

/// Parameters of the layer that sees the coordinates: weight [width, 2] and bias [width]. Its derivatives by x and y
/// are the weights themselves.
template <class T>
struct CoordinateLayer {
  T *weight, *bias;
};

/// The jet of h = tanh(a) from that of a; h.value is already there, as torch's tanh is vectorised.
template <class T>
void tanh_jet(const Jet<const T>& a, const Jet<T>& h);

/// Turns g, the gradient by the jet of h, into the one by the jet of a, and adds the sum of its values to `bias`.
template <class T>
void tanh_jet_gradient(const Jet<const T>& a, const Jet<const T>& h, const Jet<T>& g, T* bias);

/// The same for h = tanh(weight (x, y) + bias) at `points` [n, 2].
template <class T>
void coordinate_jet(const CoordinateLayer<const T>& layer, const Jet<T>& h);
template <class T>
void coordinate_jet_gradient(const CoordinateLayer<const T>& layer, const T* points, const Jet<const T>& h,
                             const Jet<const T>& g, const CoordinateLayer<T>& gradient);

}  // namespace trasmuon::lab
