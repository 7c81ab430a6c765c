// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/mixup.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <cmath>

namespace trasmuon::lab {
namespace {

/// Gamma(alpha, 1) by Marsaglia and Tsang's method; alpha < 1 through alpha + 1.
double gamma(double alpha, SampleRandom& random) {
  if (alpha < 1) return gamma(alpha + 1, random) * std::pow(1 - random.uniform(), 1 / alpha);
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

double mixup_share(double alpha, SampleRandom& random) {
  const double a = gamma(alpha, random), b = gamma(alpha, random);
  return a + b > 0 ? a / (a + b) : 0.5;
}

void mix_images(std::span<float> batch, std::int64_t count, double share) {
  const std::size_t size = batch.size() / static_cast<std::size_t>(count);
  const auto mine = static_cast<float>(share), others = static_cast<float>(1 - share);
  for (std::int64_t i = 0; i < count / 2; ++i) {  // the one in the middle is mixed with itself
    float* first = batch.data() + static_cast<std::size_t>(i) * size;
    float* last = batch.data() + static_cast<std::size_t>(count - 1 - i) * size;
    for (std::size_t k = 0; k < size; ++k) {
      const float a = first[k], b = last[k];
      first[k] = mine * a + others * b;
      last[k] = mine * b + others * a;
    }
  }
}

void label_weights(std::span<const std::int64_t> labels, std::int64_t classes, double smoothing, double share,
                   std::span<float> weights) {
  const auto row = static_cast<std::size_t>(classes);
  std::fill(weights.begin(), weights.end(), static_cast<float>(smoothing / static_cast<double>(classes)));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      throw Error(fmt::format("labels must be in [0, {}), label {} is {}", classes, i, labels[i]));
    }
    const std::size_t other = labels.size() - 1 - i;
    weights[i * row + static_cast<std::size_t>(labels[i])] += static_cast<float>((1 - smoothing) * share);
    weights[other * row + static_cast<std::size_t>(labels[i])] += static_cast<float>((1 - smoothing) * (1 - share));
  }
}

}  // namespace trasmuon::lab
