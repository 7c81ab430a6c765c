// SPDX-License-Identifier: Apache-2.0
#include "lab/training/gradient_bursts.h"

#include <algorithm>
#include <cmath>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

/// A normalized direction in each of the columns: [rows, columns].
at::Tensor directions(Random& random, std::int64_t rows, std::int64_t columns) {
  constexpr double kEps = 1e-12;
  at::Tensor u = at::empty({columns, rows}, at::kFloat);
  float* values = u.data_ptr<float>();
  for (std::int64_t i = 0; i < u.numel(); ++i) values[i] = static_cast<float>(random.normal());
  return (u / (u.norm(2, 1, true) + kEps)).t();
}

}  // namespace

bool GradientBursts::at(int step) const {
  const int since = step - settings_.burst_start;
  return settings_.burst_period > 0 && since >= 0 && since % settings_.burst_period == 0;
}

BurstSeen GradientBursts::apply(int step, const std::vector<at::Tensor>& gradients) const {
  at::NoGradGuard no_grad;
  BurstSeen seen;
  double added = 0, before = 0, sizes = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& gradient = gradients[i];
    const std::int64_t rows = gradient.size(0), columns = gradient.size(1);
    const auto count = static_cast<int>(std::min<std::int64_t>(settings_.burst_columns, columns));
    // A stream per step and matrix: what one matrix gets does not depend on the others.
    Random random(static_cast<std::uint64_t>(settings_.burst_seed) << 32 | static_cast<std::uint32_t>(step),
                  static_cast<std::uint32_t>(i));
    const std::vector<int> hit = distinct_below(static_cast<int>(columns), count, random);
    const at::Tensor u = directions(random, rows, count);

    const double norm = gradient.norm().item<double>();
    double alpha = settings_.burst_size;
    if (settings_.burst_relative) alpha *= norm / std::sqrt(static_cast<double>(rows) * static_cast<double>(columns));
    if (settings_.burst_cap > 0) alpha = std::min(alpha, settings_.burst_cap);
    seen.columns.emplace_back(hit.begin(), hit.end());
    const at::Tensor index = at::tensor(seen.columns.back(), at::kLong).to(gradient.device());
    gradient.index_add_(1, index, (alpha * u).to(gradient.options()));
    sizes += alpha;
    added += count * alpha * alpha;
    before += norm * norm;
  }
  if (!gradients.empty()) seen.size = sizes / static_cast<double>(gradients.size());
  if (before > 0) seen.share = std::sqrt(added / before);
  return seen;
}

}  // namespace trasmuon::lab
