// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>

// The arithmetic of single elements, written once and compiled for host and device. Equation labels are the paper's.
//
// Always inlined on the host: the kernels of src/cpu/isa are compiled once per instruction set, and of a function that
// is not inlined the linker would keep one copy, perhaps the one for the widest set.
#if defined(__CUDACC__)
#define TRASMUON_FORMULA __host__ __device__ __forceinline__
#else
#define TRASMUON_FORMULA [[gnu::always_inline]] inline
#endif

namespace trasmuon {

// ---- Range -------------------------------------------------------------------------------------------------------

/// A gradient entry above this counts as not finite: AdamW keeps squares in the compute type T, and they must not
/// overflow. One limit for all rules.
template <class T>
constexpr T kLargestGradient = sizeof(T) == 8 ? T(1e150) : T(0x1p62);

/// A matrix whose RMS is not above this counts as zero: in f32 its entries are subnormal, in f64 their squares are, and
/// either way most digits are lost.
template <class T>
constexpr double kSmallestRms = sizeof(T) == 8 ? 1e-150 : double{FLT_MIN};

template <class T>
constexpr double kLargestNumber = sizeof(T) == 8 ? DBL_MAX : double{FLT_MAX};

template <class T>
constexpr double kEpsilon = sizeof(T) == 8 ? DBL_EPSILON : double{FLT_EPSILON};

template <class T>
TRASMUON_FORMULA bool usable_gradient(T g) {  // false for NaN
  return (g < T(0) ? -g : g) <= kLargestGradient<T>;
}

// ---- Momentum ----------------------------------------------------------------------------------------------------

/// M <- b1 M + (1 - b1) G                                                                  eq:momentum_main
template <class T>
TRASMUON_FORMULA T next_momentum(T m, T g, T beta) {
  const T rest = T(1) - beta;
  return beta * m + rest * g;
}

/// Nesterov's look-ahead (1 - b1) G + b1 M, from the new M.
template <class T>
TRASMUON_FORMULA T lookahead(T m, T g, T beta) {
  const T rest = T(1) - beta;
  return rest * g + beta * m;
}

// ---- Update of the weights ---------------------------------------------------------------------------------------

/// W <- (1 - eta lambda) W - eta^ O_base diag(c)                                           eq:trasmuon_update_main
/// `left` and `right` are the factors of the stored row and column. The order matters: left * right might overflow
/// where o is zero.
template <class T>
TRASMUON_FORMULA T next_weight(T w, T decay, T left, T right, T o) {
  return decay * w - left * (right * o);
}

// ---- AdamW -------------------------------------------------------------------------------------------------------

/// The scalars of AdamW's step t, in the compute type.
template <class T>
struct AdamWScalars {
  T beta1, rest1, beta2, rest2, inverse_correction1, inverse_root_correction2, eps;
};

template <class T>
TRASMUON_FORMULA void next_adamw_moments(const AdamWScalars<T>& s, T g, T& m, T& v) {
  m = s.beta1 * m + s.rest1 * g;
  v = s.beta2 * v + s.rest2 * g * g;
}

/// m^ / (sqrt(v^) + eps)
template <class T>
TRASMUON_FORMULA T adamw_direction(const AdamWScalars<T>& s, T m, T v) {
  T root;
  if constexpr (sizeof(T) == 4) root = sqrtf(v);
  else root = sqrt(v);
  return (s.inverse_correction1 * m) / (s.inverse_root_correction2 * root + s.eps);
}

}  // namespace trasmuon
