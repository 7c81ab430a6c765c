// SPDX-License-Identifier: Apache-2.0
#include "support/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trasmuon::test {

Dense multiply(const Dense& a, const Dense& b) {
  Dense c(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.cols; ++k) {
      for (std::int64_t j = 0; j < b.cols; ++j) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

Dense transpose(const Dense& a) {
  Dense t(a.cols, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.cols; ++j) t(j, i) = a(i, j);
  }
  return t;
}

double frobenius(const Dense& a) {
  return std::sqrt(std::inner_product(a.data.begin(), a.data.end(), a.data.begin(), 0.0));
}

Dense random_normal(std::int64_t rows, std::int64_t cols, std::mt19937_64& rng, double scale) {
  std::normal_distribution<double> normal;
  Dense x(rows, cols);
  for (double& value : x.data) value = scale * normal(rng);
  return x;
}

void symmetric_eigen(Dense a, Dense& vectors, std::vector<double>& values) {
  const std::int64_t n = a.rows;
  vectors = Dense(n, n);
  for (std::int64_t i = 0; i < n; ++i) vectors(i, i) = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        off += a(p, q) * a(p, q);
        if (a(p, q) == 0) continue;
        const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double c = 1 / std::hypot(t, 1.0), s = t * c;
        for (std::int64_t k = 0; k < n; ++k) {
          const double kp = a(k, p), kq = a(k, q);
          a(k, p) = c * kp - s * kq;
          a(k, q) = s * kp + c * kq;
        }
        for (std::int64_t k = 0; k < n; ++k) {
          const double pk = a(p, k), qk = a(q, k);
          a(p, k) = c * pk - s * qk;
          a(q, k) = s * pk + c * qk;
          const double vp = vectors(k, p), vq = vectors(k, q);
          vectors(k, p) = c * vp - s * vq;
          vectors(k, q) = s * vp + c * vq;
        }
      }
    }
    if (off < 1e-300) break;
  }
  values.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = a(i, i);
}

Dense apply_to_singular_values(const Dense& a, double (*f)(double, const void*), const void* context) {
  if (a.rows > a.cols) return transpose(apply_to_singular_values(transpose(a), f, context));
  Dense u;
  std::vector<double> eigenvalues;
  symmetric_eigen(multiply(a, transpose(a)), u, eigenvalues);
  Dense scaled = transpose(u);  // diag(f(sigma) / sigma) U^T
  const double largest = *std::max_element(eigenvalues.begin(), eigenvalues.end());
  for (std::int64_t i = 0; i < scaled.rows; ++i) {
    const double eigenvalue = eigenvalues[static_cast<std::size_t>(i)];
    const double sigma = std::sqrt(std::max(0.0, eigenvalue));
    const double factor = eigenvalue > 1e-14 * largest ? f(sigma, context) / sigma : 0;  // within the rank
    for (std::int64_t j = 0; j < scaled.cols; ++j) scaled(i, j) *= factor;
  }
  return multiply(multiply(u, scaled), a);
}

Dense polar(const Dense& a) {
  return apply_to_singular_values(
      a, [](double, const void*) { return 1.0; }, nullptr);
}

Dense newton_schulz(const Dense& a, double scale, const std::vector<NewtonSchulzTriple>& triples) {
  const bool tall = a.rows > a.cols;
  Dense x = tall ? transpose(a) : a;
  for (double& value : x.data) value *= scale;
  for (const NewtonSchulzTriple& t : triples) {
    const Dense gram = multiply(x, transpose(x));
    const Dense square = multiply(gram, gram);
    Dense p(gram.rows, gram.cols);
    for (std::size_t i = 0; i < p.data.size(); ++i) p.data[i] = t.b * gram.data[i] + t.c * square.data[i];
    for (std::int64_t i = 0; i < p.rows; ++i) p(i, i) += t.a;
    x = multiply(p, x);
  }
  return tall ? transpose(x) : x;
}

}  // namespace trasmuon::test
