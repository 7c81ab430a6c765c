// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/damping_control.h"

#include <algorithm>
#include <numeric>

#include "lab/study/placebo.h"

namespace trasmuon::lab {
namespace {

TrasMuonOptions damping_only(TrasMuonOptions options) {
  options.orthogonalize = options.row_scale = options.calibrate = false;  // c depends on the momentum alone
  return options;
}

}  // namespace

DampingControl damping_control(std::string_view name) {
  if (name == "mean") return DampingControl::mean;
  if (name == "permuted") return DampingControl::permuted;
  return name == "blind" ? DampingControl::blind : DampingControl::none;
}

ControlledDamping::ControlledDamping(DampingControl control, const TrasMuonOptions& options, int dim,
                                     const Bursts* bursts, std::uint64_t seed)
    : control_(control),
      weight_(static_cast<std::size_t>(dim) * dim),
      gradient_(weight_.size()),
      c_(static_cast<std::size_t>(dim)),
      columns_(placebo_columns(dim, seed)),
      shadow_(damping_only(options), weight_, dim, control == DampingControl::blind ? nullptr : bursts) {}

std::span<const double> ControlledDamping::step(int step, std::span<const double> gradient) {
  std::copy(gradient.begin(), gradient.end(), gradient_.begin());
  shadow_.step(step, gradient_);
  const std::span<const double> c = shadow_.damping();
  if (control_ == DampingControl::mean) {
    std::fill(c_.begin(), c_.end(), std::accumulate(c.begin(), c.end(), 0.0) / static_cast<double>(c.size()));
  } else {
    for (std::size_t j = 0; j < c.size(); ++j)
      c_[j] = c[control_ == DampingControl::permuted ? static_cast<std::size_t>(columns_[j]) : j];
  }
  return c_;
}

}  // namespace trasmuon::lab
