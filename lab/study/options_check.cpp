// SPDX-License-Identifier: Apache-2.0
#include "lab/study/options_check.h"

#include <fmt/format.h>
#include <trasmuon/error.h>
#include <trasmuon/optimizer.h>

#include <array>
#include <limits>

namespace trasmuon::lab {

template <class Real>
void check_options(const Options& options, double lr_scale, const std::string& owner) {
  Options scaled = options;
  double& lr = std::visit([](auto& o) -> double& { return o.lr; }, scaled);
  if (constexpr double kMost = std::numeric_limits<Real>::max(); !(lr * lr_scale <= kMost)) {
    throw Error(fmt::format("{}: lr must be <= {:.3g} after lr_scale = {:g}, got {:g}", owner, kMost, lr_scale, lr));
  }
  lr *= lr_scale;
  std::array<Real, 4> weight{};
  const Optimizer built({{scaled, {{"w", view(weight.data(), {2, 2})}}}});
}

template void check_options<float>(const Options&, double, const std::string&);
template void check_options<double>(const Options&, double, const std::string&);

}  // namespace trasmuon::lab
