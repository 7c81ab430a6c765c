// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/tanh_jet.h"

#include <torch/csrc/autograd/custom_function.h>

namespace trasmuon::lab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The four components of a jet, one behind the other.
template <class T>
struct Jet {
  T *value, *x, *y, *laplacian;

  explicit Jet(const at::Tensor& tensor) {
    using Element = std::remove_const_t<T>;
    value = tensor.data_ptr<Element>();
    const std::int64_t stride = tensor.numel() / 4;
    x = value + stride, y = x + stride, laplacian = y + stride;
  }
};

// h = tanh(a), s = h' = 1 - h^2, h'' = -2 h s:  h_x = s a_x,  Lap h = s Lap a + h'' (a_x^2 + a_y^2).
// h.value is already there: torch's tanh is the vectorised one.
template <class T>
void jet_forward(const at::Tensor& input, const at::Tensor& output) {
  const Jet<const T> a(input);
  const Jet<T> h(output);
  const std::int64_t count = input.numel() / 4;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const T s = 1 - h.value[i] * h.value[i], q = a.x[i] * a.x[i] + a.y[i] * a.y[i];
    h.x[i] = s * a.x[i];
    h.y[i] = s * a.y[i];
    h.laplacian[i] = s * (a.laplacian[i] - 2 * h.value[i] * q);
  }
}

// g is the gradient by the jet of h, d the one by the jet of a.
template <class T>
void jet_backward(const at::Tensor& input, const at::Tensor& output, const at::Tensor& gradient,
                  const at::Tensor& result) {
  const Jet<const T> a(input), h(output), g(gradient);
  const Jet<T> d(result);
  const std::int64_t count = input.numel() / 4;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const T hi = h.value[i], ax = a.x[i], ay = a.y[i], gl = g.laplacian[i];
    const T s = 1 - hi * hi, q = ax * ax + ay * ay;
    const T by_s = g.x[i] * ax + g.y[i] * ay + gl * (a.laplacian[i] - 2 * hi * q);
    d.value[i] = s * (g.value[i] - 2 * (s * q * gl + hi * by_s));
    d.x[i] = s * (g.x[i] - 4 * hi * gl * ax);
    d.y[i] = s * (g.y[i] - 4 * hi * gl * ay);
    d.laplacian[i] = s * gl;
  }
}

struct TanhJet : torch::autograd::Function<TanhJet> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& a, const at::Tensor& bias) {
    at::Tensor h = at::empty_like(a);
    at::Tensor value = h[0];
    at::add_out(value, a[0], bias);
    value.tanh_();
    if (a.scalar_type() == at::kFloat) jet_forward<float>(a, h);
    else jet_forward<double>(a, h);
    context->save_for_backward({a, h});
    return h;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor result = at::empty_like(saved[0]);
    if (gradient.scalar_type() == at::kFloat) jet_backward<float>(saved[0], saved[1], gradient, result);
    else jet_backward<double>(saved[0], saved[1], gradient, result);
    return {result, result[0].sum(0)};
  }
};

}  // namespace

at::Tensor tanh_jet(const at::Tensor& a, const at::Tensor& bias) { return TanhJet::apply(a.contiguous(), bias); }

}  // namespace trasmuon::lab
