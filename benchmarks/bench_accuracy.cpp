// SPDX-License-Identifier: Apache-2.0
// Rounding error of both forms of Newton-Schulz in f32 and bf16, against f64, for spectra from flat to six decades
// wide. The evidence for docs/decisions/0002-gram-form.md and 0009-bf16-on-the-cpu.md.
#include <cmath>
#include <cstdio>
#include <random>
#include <type_traits>
#include <vector>

#include "cpu/newton_schulz/bf16_newton_schulz.h"
#include "cpu/newton_schulz/newton_schulz.h"
#include "cpu/scratch.h"
#include "optim/rule.h"

namespace {

using namespace trasmuon;

constexpr std::int64_t kRows = 256, kCols = 1024;

struct Spectrum {
  const char* name;
  double (*value)(int index);
};

constexpr Spectrum kSpectra[] = {
    {"Gaussian", [](int) { return 1.0; }},
    {"power law 1/i", [](int i) { return 1.0 / (i + 1); }},
    {"power law 1/i^2", [](int i) { return std::pow(i + 1, -2.0); }},
    {"six decades", [](int i) { return std::pow(10.0, -6.0 * i / kRows); }},
    {"four large, rest 1e-4", [](int i) { return i < 4 ? 1.0 : 1e-4; }},
};

struct Iteration {
  const char* coefficients;
  int steps;
};

constexpr Iteration kIterations[] = {{"keller", 5}, {"you", 5}, {"polar_express", 5}, {"minimax4", 4}};

/// L diag(spectrum) R with Gaussian L and R, rounded to f32.
std::vector<float> matrix(const Spectrum& spectrum, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> left(kRows * kRows), right(kRows * kCols), product(kRows * kCols);
  for (double& x : left) x = normal(rng) / std::sqrt(kRows);
  for (double& x : right) x = normal(rng) / std::sqrt(kCols);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t k = 0; k < kRows; ++k) {
      const double scaled = left[static_cast<std::size_t>(i * kRows + k)] * spectrum.value(static_cast<int>(k));
      for (std::int64_t j = 0; j < kCols; ++j) {
        product[static_cast<std::size_t>(i * kCols + j)] += scaled * right[static_cast<std::size_t>(k * kCols + j)];
      }
    }
  }
  return {product.begin(), product.end()};
}

template <class T>
std::vector<T> orthogonalized(const std::vector<float>& x, const Iteration& iteration, NewtonSchulzForm form,
                              DType iterates = dtype_of<T>()) {
  std::vector<T> in(x.begin(), x.end());
  double squares = 0;
  for (float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
  std::vector<T> out(x.size());
  cpu::Scratch scratch;
  const MatrixView view{in.data(), dtype_of<T>(), kRows, kCols, kCols};
  const auto triples = newton_schulz_triples(iteration.coefficients, iteration.steps);
  if (iterates == DType::bf16) {
    if constexpr (std::is_same_v<T, float>)
      cpu::bf16_newton_schulz(view, 1 / std::sqrt(squares), triples, form, out.data(), scratch);
  } else {
    cpu::newton_schulz<T>(view, 1 / std::sqrt(squares), triples, form, out.data(), scratch);
  }
  return out;
}

double relative_error(const std::vector<float>& ours, const std::vector<double>& exact) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(static_cast<double>(ours[i]) - exact[i], 2);
    size += exact[i] * exact[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace

int main() {
  std::printf("relative Frobenius error, %d x %d, five steps (minimax4: four)\n", static_cast<int>(kRows),
              static_cast<int>(kCols));
  std::printf("%-24s %-14s %10s %10s %14s %10s\n", "spectrum", "coefficients", "f32 standard", "gram", "bf16 standard",
              "gram");
  std::mt19937_64 rng(1);
  for (const Spectrum& spectrum : kSpectra) {
    const std::vector<float> x = matrix(spectrum, rng);
    for (const Iteration& iteration : kIterations) {
      const auto exact = orthogonalized<double>(x, iteration, NewtonSchulzForm::standard);
      std::printf("%-24s %-14s", spectrum.name, iteration.coefficients);
      for (const DType iterates : {DType::f32, DType::bf16}) {
        for (const NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
          std::printf(" %12.1e", relative_error(orthogonalized<float>(x, iteration, form, iterates), exact));
        }
      }
      std::printf("\n");
    }
  }
}
