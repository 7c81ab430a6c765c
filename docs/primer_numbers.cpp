// SPDX-License-Identifier: Apache-2.0
// Computes the numbers of primer.md and prints them in the page's own words. The test docs.primer_numbers fails unless
// the page contains every line.
#include <trasmuon/trasmuon.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

using namespace trasmuon;

namespace {

std::string row(const double* x, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    char number[32];
    std::snprintf(number, sizeof number, " %.4f", x[i]);
    text += number;
  }
  return text;
}

/// One step of `keller` on a singular value.
double polynomial(double x) {
  const auto [a, b, c] = coefficient_set("keller").triples[0];
  return x * (a + b * x * x + c * x * x * x * x);
}

double after_five_steps(double x) {
  for (int t = 0; t < 5; ++t) x = polynomial(x);
  return x;
}

// The rows are orthogonal, so the singular values are their lengths: 5 and 0.5.
void orthogonalization() {
  const double m[] = {3, 4, -0.4, 0.3};
  const double norm = std::sqrt(25.25);
  double large = 5 / norm, small = 0.5 / norm;
  std::printf("the norm is %.4f, so the singular values become %.4f and %.4f\n", norm, large, small);
  std::string large_row, small_row;
  for (int step = 0; step <= 5; ++step) {
    if (step > 0) large = polynomial(large), small = polynomial(small);
    large_row += row(&large, 1) + " |", small_row += row(&small, 1) + " |";
  }
  std::printf("| large |%s\n| small |%s\n", large_row.c_str(), small_row.c_str());
  double low = 9, high = 0;
  for (double x = 0.01; x <= 1; x += 1e-5) {
    low = std::min(low, after_five_steps(x)), high = std::max(high, after_five_steps(x));
  }
  std::printf("values above 0.01 end between %.2f and %.2f\n", low, high);
  double o[4];
  orthogonalize(view(m, {2, 2}), view(o, {2, 2}));
  std::printf("O =%s\n", row(o, 4).c_str());
  std::printf("%.4f : %.4f\n", large, small);
  orthogonalize(view(m, {2, 2}), view(o, {2, 2}), {.steps = 8, .coefficients = "polar_express"});
  std::printf("give%s\n", row(o, 4).c_str());
  std::printf("0.001 ends at %.2f\n", after_five_steps(0.001));
}

void rows_and_calibration() {
  const double m[] = {3, 4, -0.4, 0.3, 0.1, 0.1};
  double o[6], base[6], rms[3], v[3], squares = 0;
  orthogonalize(view(m, {3, 2}), view(o, {3, 2}));
  for (int i = 0; i < 3; ++i) {
    const double mean = (o[2 * i] * o[2 * i] + o[2 * i + 1] * o[2 * i + 1]) / 2;
    rms[i] = std::sqrt(mean), v[i] = 0.05 * mean, squares += 2 * mean / v[i];
    for (int j = 0; j < 2; ++j) base[2 * i + j] = o[2 * i + j] / std::sqrt(v[i]);
  }
  std::printf("O =%s RMS of the row:%s\n", row(o, 2).c_str(), row(rms, 1).c_str());
  std::printf("-0.4 0.3%s%s\n", row(o + 2, 2).c_str(), row(rms + 1, 1).c_str());
  std::printf("0.1 0.1%s%s\n", row(o + 4, 2).c_str(), row(rms + 2, 1).c_str());
  std::printf("v = %.6f, %.6f, %.6f\n", v[0], v[1], v[2]);
  std::printf("O_base =%s\n", row(base, 6).c_str());
  std::printf("Every row now has RMS %.4f\n", std::sqrt(squares / 6));
  std::printf("||O_base||_F = %.4f eta\n", std::sqrt(6 / squares));

  // The library's own step, without momentum.
  std::vector<double> w(6, 0.0);
  Optimizer optimizer(
      {{TrasMuonOptions{.lr = 1, .weight_decay = 0, .beta1 = 0, .rms_scale = 1}, {{"w", view(w.data(), {3, 2})}}}});
  const TensorView g = view(m, {3, 2});
  optimizer.step({&g, 1});
  for (double& x : w) x = -x;
  std::printf("dW = - eta^ O_base = - eta%s\n", row(w.data(), 6).c_str());
}

// The gradient is an 8 x 8 Hadamard matrix: all columns have energy 8. Step 201 multiplies column 4 by 30.
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
  const TrasMuonOptions options{.lr = 0.01, .weight_decay = 0, .nesterov = false, .rms_scale = 1, .warmup = 100};
  Optimizer optimizer({{options, {{"w", view(w.data(), {n, n})}}}}, {.diagnostics = true});
  int above_trigger = 0;
  for (int t = 1; t <= 260; ++t) {
    const TensorView g = view(t == 201 ? burst : calm, {n, n});
    optimizer.step({&g, 1});
    const auto number = [&](const char* name, int j) { return static_cast<double*>(optimizer.state(0, name).data)[j]; };
    double energy = 0;
    for (int i = 0; i < n; ++i) energy += std::pow(number("momentum", i * n + 3), 2);
    const Diagnostics& d = optimizer.diagnostics(0)[0];
    const double inst = d.r_max > options.trigger ? 1 / (1 + std::log1p(d.r_max)) : 1;
    const double e_ref = number("e_ref", 0) / (1 - std::pow(options.beta_energy, t));
    above_trigger += t > 200 && d.r_max > options.trigger;
    if (t == 201) std::printf("0.9 x 0.5 x %.4f = %.4f\n", 1 - inst, number("c_last", 3));
    bool shown = false;
    for (int in_page : {200, 201, 202, 203, 206, 211, 221, 225, 226, 228, 231, 260}) shown |= t == in_page;
    if (!shown) continue;
    std::printf("| %d | %.3f | %.3f | %.3f | %.4f | %.4f | %.4f | %.4f | %.4f |\n", t, energy, e_ref, d.r_max, inst,
                number("c_ema", 3), number("c_sum", 3) / number("gamma_sum", 0), number("c_last", 3),
                d.update_rms / options.lr);
  }
  std::printf("r needs %d steps to fall below the trigger\n", above_trigger);
}

}  // namespace

int main() {
  orthogonalization();
  rows_and_calibration();
  trust_region();
}
