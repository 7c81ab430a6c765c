// SPDX-License-Identifier: Apache-2.0
// The paper's invariants under random settings: c in [c_min, 1] and ||dW||_F <= eta sqrt(mn) (times rms_scale) in every
// step, for any gradient. TRASMUON_FUZZ_STEPS sets the number of steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "support/model.h"

namespace trasmuon {
namespace {

std::int64_t fuzz_steps() {
  const char* text = std::getenv("TRASMUON_FUZZ_STEPS");
  return text != nullptr ? std::atoll(text) : 120000;
}

class Wild {
 public:
  explicit Wild(std::uint64_t seed) : rng_(seed) {}

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng_); }
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(rng_);
  }
  bool chance(double p) { return uniform(0, 1) < p; }
  double power(double low, double high) { return std::pow(10, uniform(low, high)); }

  TrasMuonOptions options() {
    TrasMuonOptions o;
    o.lr = chance(0.1) ? 0 : power(-6, 0);
    o.weight_decay = chance(0.5) ? 0 : power(-4, -1);
    o.beta1 = chance(0.1) ? 0 : uniform(0, 0.999);
    o.beta2 = chance(0.1) ? 0 : uniform(0, 0.9999);
    o.nesterov = chance(0.3);
    o.ns_steps = static_cast<int>(integer(0, 8));
    o.coefficients = coefficient_sets()[static_cast<std::size_t>(integer(0, 2))].name;
    o.ns_form = static_cast<NewtonSchulzForm>(integer(0, 2));
    if (chance(0.3)) o.ns_precision = NewtonSchulzPrecision::bf16;
    o.clip = static_cast<Clip>(integer(0, 2));
    o.alpha = power(-3, 3);
    o.c_min = chance(0.1) ? 1 : uniform(0.001, 1);
    o.beta_energy = chance(0.1) ? 0 : uniform(0, 0.9999);
    o.beta_clip = chance(0.1) ? 0 : uniform(0, 0.9999);
    o.trigger = o.clip != Clip::hard && chance(0.3) ? 0 : power(-2, 3);
    o.period = static_cast<int>(integer(1, 5));
    o.warmup = static_cast<int>(integer(0, 6));
    o.rho = chance(0.2) ? 1 : uniform(0, 1);
    if (chance(0.3)) o.gamma = chance(0.3) ? 0 : power(-8, 2);
    else if (chance(0.2)) o.gamma = Gamma::Kind::eta_hat;
    o.energy_of = static_cast<EnergyOf>(integer(0, 2));
    o.reference = static_cast<Reference>(integer(0, 1));
    o.reference_start = static_cast<ReferenceStart>(integer(0, 2));
    o.quantile = uniform(0, 1);
    o.quantile_rule = static_cast<QuantileRule>(integer(0, 1));
    o.gate_first_step = chance(0.3);
    o.average_warmup = chance(0.5);
    o.damped_dim = static_cast<DampedDim>(integer(0, 1));
    o.input_eps = static_cast<InputEps>(integer(0, 2));
    o.row_eps = static_cast<RowEps>(integer(0, 1));
    o.eps_energy = chance(0.3) ? 0 : power(-30, -3);
    o.eps_reference = chance(0.5) ? 0 : power(-30, -3);
    o.eps_average = chance(0.5) ? 0 : power(-30, -3);
    o.average_start = static_cast<AverageStart>(integer(0, 1));
    o.eps = power(-30, -3);
    o.rms_scale = power(-2, 1);
    o.orthogonalize = !chance(0.1);
    o.row_scale = !chance(0.1);
    o.min_damped_dim = static_cast<int>(integer(1, 4));
    return o;
  }

  Shape shape() {
    const std::int64_t sides[] = {1, 1, 2, 3, 5, 7, 8, 16, 19, 33};
    return {sides[integer(0, 9)], sides[integer(0, 9)]};
  }

  /// Zero, tiny, huge, heavy-tailed, sparse, constant or poisoned.
  template <class T>
  void gradient(std::vector<T>& g, std::int64_t cols) {
    const double limit = sizeof(T) == 4 ? 17 : 140;
    const double scale = chance(0.5) ? 1 : power(-limit, limit);
    const std::int64_t kind = integer(0, 9);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < g.size(); ++i) {
      double x = kind == 0 ? 0 : kind == 1 ? 1 : normal(rng_);
      if (kind == 2) x = chance(0.8) ? 0 : x;
      if (kind == 3) x = std::clamp(x / (1e-3 + std::abs(normal(rng_))), -50.0, 50.0);
      if (kind == 4 && static_cast<std::int64_t>(i) % cols == 0) x *= 1000;
      g[i] = static_cast<T>(std::clamp(x * scale, -1e3 * std::pow(10, limit), 1e3 * std::pow(10, limit)));
    }
    if (kind == 5)
      g[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(g.size()) - 1))] =
          std::numeric_limits<T>::quiet_NaN();
    if (kind == 6)
      g[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(g.size()) - 1))] =
          -std::numeric_limits<T>::infinity();
  }

 private:
  std::mt19937_64 rng_;
};

template <class T>
std::vector<double> read(const TensorView& tensor) {
  const T* data = static_cast<const T*>(tensor.data);
  return {data, data + tensor.shape.elements()};
}

template <class T>
void fuzz(std::int64_t total, std::uint64_t seed) {
  Wild wild(seed);
  const double slack = sizeof(T) == 4 ? 1e-5 : 1e-12;  // rounding of a sum of squares
  std::int64_t updates = 0, damped = 0;
  for (std::int64_t done = 0; done < total;) {
    const TrasMuonOptions options = wild.options();
    const Shape shape = wild.shape();
    const double size = std::sqrt(static_cast<double>(shape.elements()));
    std::vector<T> g(static_cast<std::size_t>(shape.elements()));
    const bool transposed = wild.chance(0.3);
    test::Single<T> one(options, std::vector<T>(g.size(), T(0)), shape,
                        [&](Parameter& p) { p.transposed = transposed; }, {.diagnostics = true});
    for (int step = 0; step < 40 && done < total; ++step, ++done) {
      const double lr = wild.chance(0.1) ? 0 : options.lr * wild.uniform(0, 1);
      one.optimizer.set(0, "lr", lr);
      const std::vector<T> before = one.w;
      wild.gradient(g, shape[1]);
      one.step(g);
      const Diagnostics& d = one.optimizer.diagnostics(0)[0];
      double change = 0;
      for (std::size_t i = 0; i < one.w.size(); ++i) {
        ASSERT_TRUE(std::isfinite(one.w[i])) << describe(options) << to_string(shape);
        const double decayed = (1 - lr * options.weight_decay) * static_cast<double>(before[i]);
        change += std::pow(static_cast<double>(one.w[i]) - decayed, 2);
      }
      // Weights far larger than the step add their own rounding.
      double largest = 0;
      for (T w : before) largest = std::max(largest, std::abs(static_cast<double>(w)));
      const double rounding = 2 * largest * size * static_cast<double>(std::numeric_limits<T>::epsilon());
      ASSERT_LE(std::sqrt(change), lr * options.rms_scale * size * (1 + slack) + rounding)
          << describe(options) << to_string(shape);
      for (double c : read<T>(one.optimizer.state(0, "c_last"))) {
        ASSERT_GE(c, options.c_min * (1 - 1e-6)) << describe(options);
        ASSERT_LE(c, 1) << describe(options);
      }
      for (double v : read<T>(one.optimizer.state(0, "v_row"))) ASSERT_TRUE(std::isfinite(v)) << describe(options);
      for (double m : read<T>(one.optimizer.state(0, "momentum"))) ASSERT_TRUE(std::isfinite(m)) << describe(options);
      updates += d.updated;
      damped += d.c_min < 1;
    }
  }
  // The random settings must have reached the cases that matter.
  EXPECT_GT(updates, total / 2);
  EXPECT_GT(damped, total / 10);
}

TEST(Fuzz, InvariantsHoldInFloat) { fuzz<float>(fuzz_steps() / 2, 1); }
TEST(Fuzz, InvariantsHoldInDouble) { fuzz<double>(fuzz_steps() / 2, 2); }

}  // namespace
}  // namespace trasmuon
