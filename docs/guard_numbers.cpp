// SPDX-License-Identifier: Apache-2.0
// The measured numbers in docs/algorithm.md. From the root of the repository, after a build:
//   c++ -std=c++20 -Iinclude docs/guard_numbers.cpp -Lbuild/src -ltrasmuon -Wl,-rpath,build/src -o build/guard_numbers
#include <trasmuon/trasmuon.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

using namespace trasmuon;

namespace {

/// One matrix under TrasMuon with W = 0 at the start and no decay.
template <class T>
struct Run {
  std::int64_t m, n;
  std::vector<T> w, g;
  Optimizer optimizer;
  std::mt19937 random;

  Run(TrasMuonOptions o, std::int64_t rows, std::int64_t cols)
      : m(rows), n(cols), w(rows * cols), g(rows * cols), optimizer(build(o)) {}

  /// Steps with the gradient scale * normal, column 0 multiplied by `burst`.
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

const char* name(bool literal) { return literal ? "literal" : "guarded"; }

// (a) sigma_max after RMS normalisation alone, by power iteration, against the largest fixed point of the quintic.
void rms_alone() {
  const auto [a, b, c] = coefficient_set("keller").triples[0];
  std::printf("(a) the quintic diverges above %.4f\n", std::sqrt((-b + std::sqrt(b * b - 4 * c * (a - 1))) / (2 * c)));
  std::mt19937 random;
  std::normal_distribution<double> normal;
  for (const auto& [m, n] : {std::pair{8, 8}, {64, 64}, {64, 256}}) {
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
    sigma /= std::sqrt(squares / (m * n));
    double s = sigma;
    for (int t = 0; t < 5; ++t) s = s * (a + b * s * s + c * s * s * s * s);
    std::printf("    %3d x %3d: sigma_max %.2f, after 5 steps %.3g\n", m, n, sigma, s);
  }
}

void start() {
  for (bool literal : {true, false}) {
    const Diagnostics d = Run<float>({.literal = literal}, 64, 64).step();
    std::printf("(b) t = 1, %s: r_max %.2f, damped share %.2f, c_min %.3f\n", name(literal), d.r_max, d.damped_share,
                d.c_min);
  }
}

void small_gradients() {
  for (bool literal : {true, false}) {
    Run<float> run({.warmup = 100, .literal = literal}, 64, 64);
    for (int t = 0; t < 200; ++t) run.step(1e-6);
    const Diagnostics d = run.step(1e-6, 100);
    std::printf("(c) gradients 1e-6, burst of 100, %s: r_max %.3g, c_min %.3f\n", name(literal), d.r_max, d.c_min);
  }
}

void small_learning_rates() {
  for (bool literal : {true, false}) {
    Run<float> run({.lr = 1e-5, .trigger = 1e9, .literal = literal}, 64, 64);
    std::printf("(d) lr 1e-5, nothing above the trigger, %s: c", name(literal));
    for (int t = 1; t <= 1000; ++t) {
      const Diagnostics& d = run.step();
      if (t == 1 || t == 10 || t == 100 || t == 1000) std::printf("  %.4f at t = %d", d.c_min, t);
    }
    Run<float> pinned({.lr = 1e-5, .beta_clip = 0, .warmup = 1, .literal = literal}, 64, 64);
    pinned.step();
    std::printf("; burst of 1e6 at t = 2: c %.4f\n", pinned.step(1, 1e6).c_min);
  }
}

void dead_columns() {
  for (bool literal : {true, false}) {
    Run<float> run({.literal = literal}, 16, 16);
    std::normal_distribution<float> normal;
    Diagnostics d;
    for (int t = 0; t < 20; ++t) {
      for (std::size_t i = 0; i < run.g.size(); ++i) run.g[i] = i % 16 < 9 ? 0 : normal(run.random);
      d = run.step_as_is();
    }
    std::printf("(e) 9 of 16 columns without gradient, t = 20, %s: c_min %.4f\n", name(literal), d.c_min);
  }
}

void not_a_number() {
  for (bool literal : {true, false}) {
    Run<float> run({.literal = literal}, 16, 16);
    run.step();
    run.g[5] = std::numeric_limits<float>::quiet_NaN();
    run.step_as_is();
    run.step();
    const auto bad = std::count_if(run.w.begin(), run.w.end(), [](float x) { return std::isnan(x); });
    std::printf("(f) one NaN, then a sound gradient, %s: %td of 256 weights NaN\n", name(literal), bad);
  }
  for (float size : {1e18f, 1e25f}) {
    Run<float> run({.literal = true}, 16, 16);
    std::fill(run.g.begin(), run.g.end(), 0.0f);
    run.g[0] = size, run.g[17] = -size;
    run.step_as_is();
    std::printf("(f) entries of %g in f32: square in f32 %g; update RMS / eta, literal: %.4f\n", size, size * size,
                run.optimizer.diagnostics(0)[0].update_rms / 1e-3);
  }
}

void thin_matrices() {
  for (std::int64_t m : {1, 2, 4, 8, 16}) {
    for (double trigger : {2.0, 4.0}) {
      Run<float> run({.beta1 = 0, .beta_clip = 0, .trigger = trigger, .rho = 0, .min_damped_dim = 1}, m, 4096);
      double share = 0;
      for (int t = 0; t < 200; ++t) {
        const double now = run.step().damped_share;
        if (t >= 100) share += now / 100;
      }
      std::printf("(g) m = %2d, trigger %.0f: %.2f %% of iid columns damped\n", static_cast<int>(m), trigger,
                  100 * share);
    }
  }
}

void scales() {
  for (bool literal : {true, false}) {
    Run<double> one({.clip = Clip::none, .literal = literal}, 64, 64);
    one.step();
    for (double scale : {1e-12, 1e-15, 1e-18}) {
      Run<double> run({.clip = Clip::none, .literal = literal}, 64, 64);
      run.step(scale);
      double difference = 0;
      for (std::size_t i = 0; i < run.w.size(); ++i) difference += std::pow(run.w[i] - one.w[i], 2);
      std::printf("(h) gradient scale %.0e, %s: update differs by %.1e of its norm\n", scale, name(literal),
                  std::sqrt(difference / 4096) / 1e-3);
    }
  }
}

template <class T>
void vanished_gradient(const char* type) {
  for (bool literal : {true, false}) {
    Run<T> run({.literal = literal}, 64, 64);
    for (int t = 0; t < 100; ++t) run.step();
    std::fill(run.g.begin(), run.g.end(), T(0));
    int steps = 0;
    while (steps < 10000 && run.step_as_is().update_rms > 0.5e-3) ++steps;
    std::printf("zero gradient after 100 steps, %s %s: full updates for %d%s steps\n", type, name(literal), steps,
                steps == 10000 ? " or more" : "");
  }
}

void weak_settings() {
  for (double rho : {0.0, 0.1, 0.3, 0.5}) {
    Run<float> run({.warmup = 100, .rho = rho}, 64, 64);
    for (int t = 0; t < 1000; ++t) run.step();
    double c = 1;
    for (int t = 0; t < 100; ++t) c = std::min(c, run.step(1, 30).c_min);
    std::printf("rho %.1f: smallest c in 100 steps of a 30-fold column after 1000 calm ones: %.3f\n", rho, c);
  }
}

// The momentum grows from zero, and with it every E_j, ahead of the average E_ref.
void growing_momentum() {
  for (bool constant : {true, false}) {
    Run<double> run({}, 64, 64);
    run.step();
    double largest = 0, c = 1, r = 0;
    int first = 0, last = 0, most = 0;
    for (int t = 2; t <= 300; ++t) {
      const Diagnostics& d = constant ? run.step_as_is() : run.step();
      if (d.r_max > 2) first = first == 0 ? t : first, last = t;
      if (d.damped_share > largest) largest = d.damped_share, most = t;
      r = std::max(r, d.r_max), c = std::min(c, d.c_mean);
    }
    std::printf(
        "start, %s gradient: r > 2 in t = %d to %d, r_max %.2f; most columns damped %.2f at t = %d, mean c %.3f\n",
        constant ? "constant" : "iid", first, last, r, largest, most, c);
  }
}

void update_sizes() {
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"}) {
    Options options = options_for(rule);
    std::visit([](auto& o) { o.lr = 1, o.weight_decay = 0; }, options);
    std::printf("update RMS at lr 1, step 20, %-8s:", rule);
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
      std::printf("  %.3f at %s", optimizer.diagnostics(0)[0].update_rms, to_string(shape).c_str());
    }
    std::printf("\n");
  }
}

void coefficient_bands() {
  for (const auto& [set, steps] : {std::pair{"keller", 5}, {"you", 5}, {"polar_express", 5}, {"polar_express", 8}}) {
    const auto triples = coefficient_set(set).triples;
    const auto value = [&, steps = steps](double x) {
      for (int t = 0; t < steps; ++t) {
        const auto [a, b, c] = triples[std::min<std::size_t>(static_cast<std::size_t>(t), triples.size() - 1)];
        x = x * (a + b * x * x + c * x * x * x * x);
      }
      return x;
    };
    double low = 9, high = 0;
    for (double x = 0.01; x <= 1; x += 1e-5) low = std::min(low, value(x)), high = std::max(high, value(x));
    std::printf("%s, %d steps: [0.01, 1] -> [%.4f, %.4f], 1e-3 -> %.3f, 1e-4 -> %.3f\n", set, steps, low, high,
                value(1e-3), value(1e-4));
  }
}

}  // namespace

int main() {
  rms_alone();
  start();
  small_gradients();
  small_learning_rates();
  dead_columns();
  not_a_number();
  thin_matrices();
  scales();
  vanished_gradient<float>("f32");
  vanished_gradient<double>("f64");
  weak_settings();
  growing_momentum();
  update_sizes();
  coefficient_bands();
}
