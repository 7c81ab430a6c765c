// SPDX-License-Identifier: Apache-2.0
// Row kernels: simple loops that the compiler vectorises; reductions keep explicit
// lanes so that their order is fixed.

template <class T, class S>
bool all_usable(const void* g, std::int64_t n) {
  const S* gradient = static_cast<const S*>(g);
  int unusable = 0;
  for (std::int64_t j = 0; j < n; ++j) unusable |= !usable_gradient(load_as(gradient[j], T()));
  return unusable == 0;
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
  for (std::int64_t j = 0; j < n; ++j) m[j] = next_momentum(m[j], load_as(gradient[j], T()), beta);
}

template <class T, class S>
void apply_row(void* w, const T* __restrict o, const T* __restrict right, T left, T decay, std::int64_t n) {
  S* weight = static_cast<S*>(w);
  if (right != nullptr) {
    for (std::int64_t j = 0; j < n; ++j) {
      store_from(next_weight(load_as(weight[j], T()), decay, left, right[j], o[j]), weight + j);
    }
  } else {
    for (std::int64_t j = 0; j < n; ++j) {
      store_from(next_weight(load_as(weight[j], T()), decay, left, T(1), o[j]), weight + j);
    }
  }
}

template <class T>
void lookahead_row(T* __restrict u, const T* __restrict m, T beta, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) u[j] = lookahead(m[j], u[j], beta);
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
void adamw_row(T* __restrict m, T* __restrict v, T* __restrict direction, const AdamWScalars<T>& scalars,
               std::int64_t n) {
  const AdamWScalars<T> s = scalars;  // a copy: it overlaps none of the rows
  for (std::int64_t j = 0; j < n; ++j) {
    next_adamw_moments(s, direction[j], m[j], v[j]);
    direction[j] = adamw_direction(s, m[j], v[j]);
  }
}
