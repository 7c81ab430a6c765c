// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "support/memory.h"
#include "support/model.h"

// Gradients of exact rank k: Dion's step has rank k in every step, on every backend.
namespace trasmuon::test {

/// m x n of rank k at most: products of small whole numbers, so that no entry is rounded.
template <class T>
std::vector<T> exact_rank(std::int64_t m, std::int64_t n, int k, std::mt19937_64& rng) {
  const auto whole = [&] { return static_cast<int>(rng() % 15) - 7; };
  std::vector<T> values(static_cast<std::size_t>(m * n));
  for (int term = 0; term < k; ++term) {
    std::vector<int> left(static_cast<std::size_t>(m)), right(static_cast<std::size_t>(n));
    for (int& x : left) x = whole();
    for (int& x : right) x = whole();
    for (std::size_t i = 0; i < left.size(); ++i) {
      for (std::size_t j = 0; j < right.size(); ++j) values[i * right.size() + j] += static_cast<T>(left[i] * right[j]);
    }
  }
  return values;
}

/// The step is lr sqrt(m / n) P R^T, P with orthonormal columns and R with columns of unit length: its norm tells how
/// many of them are not zero.
inline double columns_of_step(const Optimizer& optimizer, std::int64_t m, std::int64_t n) {
  const Diagnostics& d = optimizer.diagnostics(0)[0];
  return std::pow(d.update_rms / d.eta_hat, 2) * static_cast<double>(m * n);
}

template <class T>
void expect_steps_of_rank(std::int64_t m, std::int64_t n, int k, int seeds, int steps, Memory& memory) {
  for (int seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
    const auto g = exact_rank<T>(m, n, k, rng);
    T* w = memory.copy(std::vector<T>(g.size()));
    const TensorView gradient = view(memory.copy(g), {m, n});
    Optimizer optimizer(
        {{DionOptions{.seed = seed}, {{.name = "w", .weight = view(w, {m, n}), .device = memory.device()}}}},
        {.diagnostics = true});
    for (int step = 0; step < steps; ++step) {
      optimizer.step({&gradient, 1});
      ASSERT_NEAR(columns_of_step(optimizer, m, n), k, 1e-3)
          << m << " x " << n << " rank " << k << " seed " << seed << " step " << step;
    }
  }
}

}  // namespace trasmuon::test
