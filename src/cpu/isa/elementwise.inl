// SPDX-License-Identifier: Apache-2.0
// Row kernels: simple loops that the compiler vectorises; reductions keep explicit
// lanes so that their order is fixed.

template <class T, class S>
bool all_within(const void* x, std::int64_t n, double limit) {
  const S* values = static_cast<const S*>(x);
  const T bound = static_cast<T>(limit);
  int outside = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const T value = load_as(values[j], T());
    outside |= !((value < T(0) ? -value : value) <= bound);  // also true for NaN
  }
  return outside == 0;
}

template <class T, class S>
void load_row(const void* x, T* out, std::int64_t n) {
  const S* values = static_cast<const S*>(x);
  for (std::int64_t j = 0; j < n; ++j) out[j] = load_as(values[j], T());
}

template <class T, class S>
void store_row(const T* x, void* out, std::int64_t n) {
  S* values = static_cast<S*>(out);
  for (std::int64_t j = 0; j < n; ++j) store_from(x[j], values + j);
}

template <class T, class S>
void momentum_row(T* __restrict m, const void* g, T beta, std::int64_t n) {
  const S* gradient = static_cast<const S*>(g);
  const T rest = T(1) - beta;
  for (std::int64_t j = 0; j < n; ++j) m[j] = beta * m[j] + rest * load_as(gradient[j], T());
}

template <class T, class S>
void apply_row(void* w, const T* __restrict o, const T* __restrict right, T left, T decay, std::int64_t n) {
  S* weight = static_cast<S*>(w);
  if (right != nullptr) {
    for (std::int64_t j = 0; j < n; ++j) {
      store_from(decay * load_as(weight[j], T()) - left * (right[j] * o[j]), weight + j);
    }
  } else {
    for (std::int64_t j = 0; j < n; ++j) {
      store_from(decay * load_as(weight[j], T()) - left * o[j], weight + j);
    }
  }
}

template <class T>
void nesterov_row(T* __restrict u, const T* __restrict m, T beta, std::int64_t n) {
  const T rest = T(1) - beta;
  for (std::int64_t j = 0; j < n; ++j) u[j] = rest * u[j] + beta * m[j];
}

template <class T>
void add_squares(const T* __restrict x, double* __restrict sums, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) sums[j] += static_cast<double>(x[j]) * static_cast<double>(x[j]);
}

constexpr int kSumLanes = 32;

template <class T, bool Scaled>
double sum_of_squares(const T* x, const T* right, std::int64_t n) {
  double lanes[kSumLanes] = {};
  std::int64_t j = 0;
  for (; j + kSumLanes <= n; j += kSumLanes) {
    for (int l = 0; l < kSumLanes; ++l) {
      double value = static_cast<double>(x[j + l]);
      if constexpr (Scaled) value *= static_cast<double>(right[j + l]);
      lanes[l] += value * value;
    }
  }
  for (int l = 0; j < n; ++j, ++l) {
    double value = static_cast<double>(x[j]);
    if constexpr (Scaled) value *= static_cast<double>(right[j]);
    lanes[l] += value * value;
  }
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

template <class T>
double sum_squares(const T* x, std::int64_t n) {
  return sum_of_squares<T, false>(x, nullptr, n);
}
template <class T>
double sum_squares_scaled(const T* x, const T* right, std::int64_t n) {
  return sum_of_squares<T, true>(x, right, n);
}

template <class T>
void adamw_row(T* __restrict m, T* __restrict v, T* __restrict direction, double beta1, double beta2,
               double correction1, double correction2, double eps, std::int64_t n) {
  const T b1 = static_cast<T>(beta1), r1 = static_cast<T>(1 - beta1);
  const T b2 = static_cast<T>(beta2), r2 = static_cast<T>(1 - beta2);
  const T inverse1 = static_cast<T>(1 / correction1);
  const T root2 = static_cast<T>(__builtin_sqrt(1 / correction2));
  const T floor = static_cast<T>(eps);
  for (std::int64_t j = 0; j < n; ++j) {
    const T g = direction[j];
    m[j] = b1 * m[j] + r1 * g;
    v[j] = b2 * v[j] + r2 * g * g;
    T root;
    if constexpr (sizeof(T) == 4) root = __builtin_sqrtf(v[j]);
    else root = __builtin_sqrt(v[j]);
    direction[j] = (inverse1 * m[j]) / (root2 * root + floor);
  }
}
