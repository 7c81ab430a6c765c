// SPDX-License-Identifier: Apache-2.0
// Computes the numbers marked * in algorithm.md and prints them in the page's own words. The test
// docs.algorithm_numbers fails unless the page contains every line.
#include <trasmuon/trasmuon.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace trasmuon;

namespace {

/// One matrix under TrasMuon, starting at W = 0, without weight decay.
template <class T>
struct Run {
  std::int64_t m, n;
  std::vector<T> w, g;
  Optimizer optimizer;
  std::mt19937 random;

  Run(TrasMuonOptions o, std::int64_t rows, std::int64_t cols)
      : m(rows), n(cols), w(rows * cols), g(rows * cols), optimizer(build(o)) {}

  /// Steps with a normal gradient times `scale`, column 0 also times `burst`.
  const Diagnostics& step(double scale = 1, double burst = 1) {
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] = static_cast<T>(scale * normal(random) * (static_cast<std::int64_t>(i) % n == 0 ? burst : 1));
    }
    return step_as_is();
  }
  const Diagnostics& step_as_is() {
    const TensorView gradient = view(g.data(), {m, n});
    optimizer.step({&gradient, 1});
    return optimizer.diagnostics(0)[0];
  }

 private:
  Optimizer build(TrasMuonOptions o) {
    o.weight_decay = 0;
    return Optimizer({{o, {{"w", view(w.data(), {m, n})}}}}, {.diagnostics = true});
  }
};

/// The largest singular value over the RMS of the entries, by power iteration.
double largest_singular_value(int m, int n, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> x(m * n), u(m), v(n, 1.0);
  double squares = 0, sigma = 0;
  for (double& value : x) value = normal(random), squares += value * value;
  for (int pass = 0; pass < 200; ++pass) {
    double length = 0;
    for (int i = 0; i < m; ++i) {
      u[i] = 0;
      for (int j = 0; j < n; ++j) u[i] += x[i * n + j] * v[j];
      length += u[i] * u[i];
    }
    for (double& value : u) value /= std::sqrt(length);
    sigma = 0;
    for (int j = 0; j < n; ++j) {
      v[j] = 0;
      for (int i = 0; i < m; ++i) v[j] += x[i * n + j] * u[i];
      sigma += v[j] * v[j];
    }
    sigma = std::sqrt(sigma);
    for (double& value : v) value /= sigma;
  }
  return sigma / std::sqrt(squares / (m * n));
}

void guard_a() {
  const auto [a, b, c] = coefficient_set("keller").triples[0];
  std::printf("diverges above %.4f*\n", std::sqrt((-b + std::sqrt(b * b - 4 * c * (a - 1))) / (2 * c)));
  std::mt19937 random;
  const double square8 = largest_singular_value(8, 8, random);
  const double square64 = largest_singular_value(64, 64, random);
  const double wide = largest_singular_value(64, 256, random);
  std::printf("sigma_max %.1f at 8 x 8, %.1f at 64 x 64, %.1f at 64 x 256*\n", square8, square64, wide);
  double s = square8;
  for (int t = 0; t < 5; ++t) s *= a + b * s * s + c * s * s * s * s;
  std::printf("%s after five steps*\n", std::isnan(s) ? "NaN" : "finite");
}

/// The guarded options differ from the letter in their guards alone.
TrasMuonOptions mode(bool literal) {
  return literal ? TrasMuonOptions::paper() : TrasMuonOptions{.nesterov = false, .rms_scale = 1};
}

void guard_b() {
  const auto damped = [](bool literal) { return 100 * Run<float>(mode(literal), 64, 64).step().damped_share; };
  std::printf("%.0f %% of iid columns are damped*; guarded %.0f %%*\n", damped(true), damped(false));
}

void guard_c() {
  const auto after_burst = [](bool literal) {
    TrasMuonOptions options = mode(literal);
    options.warmup = 100;
    Run<float> run(options, 64, 64);
    for (int t = 0; t < 200; ++t) run.step(1e-6);
    return run.step(1e-6, 100);
  };
  const Diagnostics literal = after_burst(true), guarded = after_burst(false);
  std::printf("r = %.2f, c = %.3f*; guarded r = %.0f, c = %.3f*\n", literal.r_max, literal.c_min, guarded.r_max,
              guarded.c_min);
}

void guard_d() {
  TrasMuonOptions options = mode(true);
  options.lr = 1e-5;
  options.trigger = 1e9;
  Run<float> run(options, 64, 64);
  const double first = run.step().c_min;
  for (int t = 2; t < 100; ++t) run.step();
  std::printf("c = %.4f at t = 1 and %.4f at t = 100*\n", first, run.step().c_min);
  options.trigger = TrasMuonOptions{}.trigger;
  options.beta_clip = 0;
  options.warmup = 1;
  Run<float> burst(options, 64, 64);
  burst.step();
  std::printf("a burst gives c = %.3f < c_min*\n", burst.step(1, 1e6).c_min);
}

void guard_e() {
  const auto smallest = [](bool literal) {
    Run<float> run(mode(literal), 16, 16);
    std::normal_distribution<float> normal;
    double c = 1;
    for (int t = 0; t < 20; ++t) {
      for (std::size_t i = 0; i < run.g.size(); ++i) run.g[i] = i % 16 < 9 ? 0 : normal(run.random);
      c = run.step_as_is().c_min;
    }
    return c;
  };
  std::printf("c = %.2f after 20 steps*; guarded c = %.2f*\n", smallest(true), smallest(false));
}

void guard_f() {
  const auto spoiled = [](bool literal) {
    Run<float> run(mode(literal), 16, 16);
    run.step();
    run.g[5] = std::numeric_limits<float>::quiet_NaN();
    run.step_as_is();
    run.step();
    return static_cast<int>(std::count_if(run.w.begin(), run.w.end(), [](float x) { return std::isnan(x); }));
  };
  std::printf("%d of 256 weights are NaN one step later*; guarded %d*\n", spoiled(true), spoiled(false));
}

void guard_g() {
  std::string text;
  for (std::int64_t m : {1, 4, 8, 16}) {
    Run<float> run({.beta1 = 0, .beta_clip = 0, .rho = 0, .min_damped_dim = 1}, m, 4096);
    double share = 0;
    for (int t = 0; t < 200; ++t) {
      const double now = run.step().damped_share;
      if (t >= 100) share += now / 100;
    }
    char part[64];
    std::snprintf(part, sizeof part, "%s%.2g %% at m = %d", text.empty() ? "" : ", ", 100 * share, static_cast<int>(m));
    text += part;
  }
  std::printf("%s*\n", text.c_str());
}

void guard_h() {
  const auto change = [](double scale, bool literal) {
    TrasMuonOptions options = mode(literal);
    options.clip = Clip::none;
    Run<double> one(options, 64, 64), run(options, 64, 64);
    one.step();
    run.step(scale);
    double difference = 0;
    for (std::size_t i = 0; i < run.w.size(); ++i) difference += std::pow(run.w[i] - one.w[i], 2);
    return std::sqrt(difference / 4096) / 1e-3;
  };
  std::printf("the update changes by %.0f %% of its norm, at 1e-18 by %.0f %%*; guarded by %.1fe-8*\n",
              100 * change(1e-15, true), 100 * change(1e-18, true), 1e8 * change(1e-18, false));
}

/// Steps with a zero gradient, after 100 ordinary ones, that still move the weights by at least eta / 2.
template <class T>
int steps_without_gradient(bool literal) {
  Run<T> run(mode(literal), 64, 64);
  for (int t = 0; t < 100; ++t) run.step();
  std::fill(run.g.begin(), run.g.end(), T(0));
  int steps = 0;
  while (steps < 10000 && run.step_as_is().update_rms > 0.5e-3) ++steps;
  return steps;
}

void vanished_gradient() {
  std::printf("paper %d steps*; guarded %d steps in f32 and %d in f64*\n", steps_without_gradient<float>(true),
              steps_without_gradient<float>(false), steps_without_gradient<double>(false));
}

void growing_momentum() {
  for (bool constant : {false, true}) {
    Run<double> run({}, 64, 64);
    run.step();
    double share = 0, c = 1;
    int first = 0, last = 0;
    for (int t = 2; t <= 300; ++t) {
      const Diagnostics& d = constant ? run.step_as_is() : run.step();
      if (d.r_max > 2) first = first == 0 ? t : first, last = t;
      share = std::max(share, d.damped_share), c = std::min(c, d.c_mean);
    }
    std::printf("in steps %d to %d for %s (at most %.0f %% of the columns damped, mean c %.3f)*\n", first, last,
                constant ? "a constant gradient" : "iid gradients", 100 * share, c);
  }
}

void limits_of_rho() {
  std::string text = "c = ";
  for (double rho : {0.0, 0.1, 0.3, 0.5}) {
    Run<float> run({.warmup = 100, .rho = rho}, 64, 64);
    for (int t = 0; t < 1000; ++t) run.step();
    double c = 1;
    for (int t = 0; t < 100; ++t) c = std::min(c, run.step(1, 30).c_min);
    char part[32];
    std::snprintf(part, sizeof part, "%s%.3f", rho == 0 ? "" : ", ", c);
    text += part;
  }
  std::printf("%s at rho = 0, 0.1, 0.3, 0.5*\n", text.c_str());
}

void update_sizes() {
  struct Row {
    const char *rule, *name;
  };
  for (const Row& row : {Row{"trasmuon", "TrasMuon"}, Row{"normuon", "NorMuon (paper)"}, Row{"muon", "Muon (original)"},
                         Row{"dion", "Dion"}, Row{"adamw", "AdamW"}}) {
    Options options = options_for(row.rule);
    std::visit([](auto& o) { o.lr = 1, o.weight_decay = 0; }, options);
    std::printf("| %s |", row.name);
    for (const Shape& shape : {Shape{128, 128}, Shape{128, 512}, Shape{512, 128}}) {
      std::vector<float> w(static_cast<std::size_t>(shape.elements())), g(w.size());
      Optimizer optimizer({{options, {{"w", view(w.data(), shape)}}}}, {.diagnostics = true});
      std::mt19937 random;
      std::normal_distribution<float> normal;
      for (int t = 0; t < 20; ++t) {
        for (float& x : g) x = normal(random);
        const TensorView gradient = view(g.data(), shape);
        optimizer.step({&gradient, 1});
      }
      std::printf(" %.3f |", optimizer.diagnostics(0)[0].update_rms);
    }
    std::printf("\n");
  }
}

struct Band {
  double low, high, of_small;  // of [0.01, 1], and where 0.001 goes
};

Band band_of(const char* set, std::size_t steps) {
  const auto triples = coefficient_set(set).triples;
  const auto value = [&](double x) {
    for (std::size_t t = 0; t < steps; ++t) {
      const auto [a, b, c] = triples[std::min(t, triples.size() - 1)];
      x = x * (a + b * x * x + c * x * x * x * x);
    }
    return x;
  };
  Band band{9, 0, value(1e-3)};
  for (double x = 0.01; x <= 1; x += 1e-5)
    band.low = std::min(band.low, value(x)), band.high = std::max(band.high, value(x));
  return band;
}

void coefficient_bands() {
  for (const auto& [set, steps] : {std::pair{"keller", 5u}, {"you", 5u}, {"minimax4", 4u}}) {
    const Band band = band_of(set, steps);
    std::printf("| %.3f - %.3f (%u steps) | %.3f |\n", band.low, band.high, steps, band.of_small);
  }
  const Band five = band_of("polar_express", 5), eight = band_of("polar_express", 8);
  std::printf("| %.3f - %.3f (5 steps), %.3f - %.3f (8 steps) | %.3f, %.3f |\n", five.low, five.high, eight.low,
              eight.high, five.of_small, eight.of_small);
}

}  // namespace

int main() {
  guard_a();
  guard_b();
  guard_c();
  guard_d();
  guard_e();
  guard_f();
  guard_g();
  guard_h();
  vanished_gradient();
  growing_momentum();
  limits_of_rho();
  update_sizes();
  coefficient_bands();
}
