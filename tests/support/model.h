// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/error_of.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::test {

/// Returns random numbers of order one.
template <class T>
std::vector<T> random_values(std::int64_t count, std::mt19937_64& rng, double scale = 1) {
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    const float x = static_cast<float>(scale * normal(rng));
    if constexpr (std::is_same_v<T, bf16>) value = to_bf16(x);
    else if constexpr (std::is_same_v<T, f16>) value = to_f16(x);
    else value = static_cast<T>(x);
  }
  return values;
}

template <class T>
double to_double(T x) {
  if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>) return static_cast<double>(to_float(x));
  else return static_cast<double>(x);
}

/// One parameter, one optimizer, stepped with given gradients.
template <class T>
struct Single {
  std::vector<T> w;
  Optimizer optimizer;

  Single(const Options& options, std::vector<T> w0, Shape shape, const std::function<void(Parameter&)>& adjust = {},
         OptimizerOptions settings = {})
      : w(std::move(w0)), optimizer(build(options, shape, adjust, std::move(settings))) {}

  template <class G>
  void step(const std::vector<G>& gradient) {
    const TensorView g = view(gradient.data(), optimizer.parameter(0).weight.shape);
    optimizer.step({&g, 1});
  }

 private:
  Optimizer build(const Options& options, Shape shape, const std::function<void(Parameter&)>& adjust,
                  OptimizerOptions settings) {
    Parameter p{.name = "w", .weight = view(w.data(), shape)};
    if (adjust) adjust(p);
    return Optimizer({{options, {p}}}, std::move(settings));
  }
};

/// Returns the five rules with their defaults, and TrasMuon that damps small matrices too, from the first step on; one
/// of them iterates in bf16.
inline std::vector<Options> all_rules() {
  return {TrasMuonOptions{.min_damped_dim = 1},
          TrasMuonOptions{.gamma = Gamma::Kind::eta_hat, .reference = Reference::history, .min_damped_dim = 1},
          NorMuonOptions{},
          NorMuonOptions{.scaling = NorMuonScaling::code},
          MuonOptions{},
          MuonOptions{.scaling = MuonScaling::match_rms_adamw},
          MuonOptions{.ns_precision = NewtonSchulzPrecision::bf16},
          DionOptions{.rank_fraction = 0.5},
          AdamWOptions{}};
}

/// All bytes of a parameter's state.
inline std::vector<std::byte> state_bytes(const Optimizer& optimizer, std::size_t index) {
  std::vector<std::byte> bytes;
  for (const auto& tensor : optimizer.state(index)) {
    const auto* data = static_cast<const std::byte*>(tensor.view.data);
    bytes.insert(bytes.end(), data,
                 data + static_cast<std::size_t>(tensor.spec.shape.elements()) * size_of(tensor.spec.dtype));
  }
  return bytes;
}

}  // namespace trasmuon::test
