// SPDX-License-Identifier: Apache-2.0
// The numbers in docs/primer.md. From the root of the repository, after a build:
//   c++ -std=c++20 -Iinclude docs/primer_numbers.cpp -Lbuild/src -ltrasmuon -Wl,-rpath,build/src -o
//   build/primer_numbers
#include <trasmuon/trasmuon.h>

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <vector>

using namespace trasmuon;

namespace {

void print(const char* name, const double* x, int rows, int cols) {
  std::printf("%s\n", name);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) std::printf(" %8.4f", x[i * cols + j]);
    std::printf("\n");
  }
}

// Orthogonal rows, so that the singular values are the rows' lengths: 5 and 0.5.
void orthogonalization() {
  const double m[] = {3, 4, -0.4, 0.3};
  const double norm = std::sqrt(25.25);
  std::printf("1. orthogonalization: ||M||_F = %.4f\n", norm);
  double large = 5 / norm, small = 0.5 / norm;
  std::printf("step 0: %.4f %.4f\n", large, small);
  const auto [a, b, c] = coefficient_set("keller").triples[0];
  const auto p = [&](double x) { return x * (a + b * x * x + c * x * x * x * x); };
  for (int step = 1; step <= 5; ++step) {
    large = p(large), small = p(small);
    std::printf("step %d: %.4f %.4f\n", step, large, small);
  }
  double o[4];
  orthogonalize(view(m, {2, 2}), view(o, {2, 2}));
  print("O, 5 steps of keller", o, 2, 2);
  orthogonalize(view(m, {2, 2}), view(o, {2, 2}), {.steps = 8, .coefficients = "polar_express"});
  print("O, 8 steps of polar_express", o, 2, 2);
}

void rows_and_calibration() {
  const double m[] = {3, 4, -0.4, 0.3, 0.1, 0.1};
  double o[6];
  orthogonalize(view(m, {3, 2}), view(o, {3, 2}));
  std::printf("\n2. row scaling and calibration\n");
  print("O", o, 3, 2);
  double base[6], squares = 0, base_squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double mean = (o[2 * i] * o[2 * i] + o[2 * i + 1] * o[2 * i + 1]) / 2, v = 0.05 * mean;
    std::printf("row %d: RMS of O %.4f, v %.6f\n", i + 1, std::sqrt(mean), v);
    for (int j = 0; j < 2; ++j) base[2 * i + j] = o[2 * i + j] / std::sqrt(v);
    squares += 2 * mean, base_squares += 2 * mean / v;
  }
  print("O_base", base, 3, 2);
  std::printf("RMS of O %.4f, of O_base %.4f, eta^ / eta %.4f\n", std::sqrt(squares / 6), std::sqrt(base_squares / 6),
              std::sqrt(6 / base_squares));

  // The library's own step, with no momentum to wait for.
  std::vector<double> w(6, 0.0);
  Optimizer optimizer({{TrasMuonOptions{.lr = 1, .weight_decay = 0, .beta1 = 0}, {{"w", view(w.data(), {3, 2})}}}});
  const TensorView g = view(m, {3, 2});
  optimizer.step({&g, 1});
  print("dW / eta from the library", w.data(), 3, 2);
}

// An 8 x 8 Hadamard matrix as gradient: all columns have energy 8. Step 201 multiplies column 4 by 30.
// The warm-up covers the steps in which the momentum is still growing.
void trust_region() {
  constexpr int n = 8;
  double calm[n * n], burst[n * n];
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      calm[i * n + j] = __builtin_popcount(static_cast<unsigned>(i & j)) % 2 == 0 ? 1 : -1;
      burst[i * n + j] = calm[i * n + j] * (j == 3 ? 30 : 1);
    }
  }
  std::vector<double> w(n * n, 0.0);
  const TrasMuonOptions options{.lr = 0.01, .weight_decay = 0, .warmup = 100};
  Optimizer optimizer({{options, {{"w", view(w.data(), {n, n})}}}}, {.diagnostics = true});
  std::printf("\n3. trust region\n step       E   E_ref      r  c_inst   c_ema   c_avg       c  update RMS / eta\n");
  for (int t = 1; t <= 260; ++t) {
    const TensorView g = view(t == 201 ? burst : calm, {n, n});
    optimizer.step({&g, 1});
    bool shown = t == 200 || (t > 200 && t <= 204);
    for (int later : {206, 211, 221, 225, 226, 227, 228, 231, 241, 260}) shown |= t == later;
    if (!shown) continue;
    const auto number = [&](const char* name, int j) { return static_cast<double*>(optimizer.state(0, name).data)[j]; };
    double energy = 0;
    for (int i = 0; i < n; ++i) energy += std::pow(number("momentum", i * n + 3), 2);
    const Diagnostics& d = optimizer.diagnostics(0)[0];
    const double inst = d.r_max > options.trigger ? 1 / (1 + std::log1p(d.r_max)) : 1;
    const double e_ref = number("e_ref", 0) / (1 - std::pow(options.beta_energy, t));
    std::printf("%5d %7.3f %7.3f %6.3f %7.4f %7.4f %7.4f %7.4f %9.4f\n", t, energy, e_ref, d.r_max, inst,
                number("c_ema", 3), number("c_sum", 3) / number("gamma_sum", 0), number("c_last", 3),
                d.update_rms / options.lr);
  }
}

}  // namespace

int main() {
  orthogonalization();
  rows_and_calibration();
  trust_region();
}
