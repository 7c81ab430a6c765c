// SPDX-License-Identifier: Apache-2.0
#include "lab/training/damping_placebo.h"

#include <trasmuon/error.h>

#include <utility>

#include "lab/study/placebo.h"

namespace trasmuon::lab {

at::Tensor damping_of(libtorch::Optimizer& optimizer, const at::Tensor& matrix) {
  const auto& state =
      static_cast<const libtorch::ParamState&>(*optimizer.state().at(libtorch::state_key(matrix))).tensors;
  const auto found = state.find("c_last");
  return found == state.end() ? at::Tensor() : found->second.flatten();
}

DampingPlacebo::DampingPlacebo(Kind kind, std::vector<at::Tensor> matrices, std::uint64_t seed)
    : kind_(kind), matrices_(kind == Kind::none ? std::vector<at::Tensor>{} : std::move(matrices)) {
  for (const at::Tensor& matrix : matrices_) {
    if (matrix.dim() != 2) throw Error("damping must be columns for weights that are no matrices");
    before_.push_back(at::empty_like(matrix));
    const std::vector<int> other = placebo_columns(static_cast<int>(matrix.size(1)), seed);
    columns_.push_back(
        at::tensor(std::vector<std::int64_t>(other.begin(), other.end()), at::kLong).to(matrix.device()));
  }
}

DampingPlacebo::Kind DampingPlacebo::kind_of(const std::string& setting) {
  if (setting == "permuted") return Kind::permuted;
  return setting == "mean" ? Kind::mean : Kind::none;
}

void DampingPlacebo::before_step() {
  at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < matrices_.size(); ++i) before_[i].copy_(matrices_[i]);
}

void DampingPlacebo::after_step(libtorch::Optimizer& optimizer, double kept) {
  at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const at::Tensor c = damping_of(optimizer, matrices_[i]);
    const at::Tensor wanted = kind_ == Kind::mean ? c.mean().expand_as(c) : c.index_select(0, columns_[i]);
    const at::Tensor decayed = kept * before_[i];
    matrices_[i].copy_(decayed + (matrices_[i] - decayed) * (wanted / c));  // c >= c_min > 0
  }
}

}  // namespace trasmuon::lab
