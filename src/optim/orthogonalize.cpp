// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/orthogonalize.h"

#include <string>

#include "optim/rule.h"
#include "trasmuon/error.h"

namespace trasmuon {

void orthogonalize(const TensorView& in, const TensorView& out, const NewtonSchulzOptions& options) {
  if (options.steps < 0 || options.steps > 100) {
    throw Error("orthogonalize: steps must be in [0, 100], got " + std::to_string(options.steps));
  }
  if (!(options.eps >= 0)) throw Error("orthogonalize: eps must be >= 0, got " + std::to_string(options.eps));
  if (!(in.shape == out.shape)) {
    throw Error("orthogonalize: out's shape must be " + to_string(in.shape) + ", got " + to_string(out.shape));
  }
  if ((in.dtype == DType::f64) != (out.dtype == DType::f64)) {
    throw Error(std::string("orthogonalize: f64 goes with f64 only, got ") + to_string(in.dtype) + " and " +
                to_string(out.dtype));
  }
  const ParameterLayout from = layout_for_matrix_rule({.name = "in", .weight = in});
  const ParameterLayout to = layout_for_matrix_rule({.name = "out", .weight = out});
  const OrthogonalizeStage stage{newton_schulz_triples(options.coefficients, options.steps), options.form,
                                 NewtonSchulzPrecision::automatic, 0, options.eps};
  const auto backend = make_cpu_backend();
  for (std::int64_t entry = 0; entry < from.batch; ++entry) {
    backend->stages().orthogonalize(slice(from, in, entry, 0), slice(to, out, entry, 0), stage);
  }
}

}  // namespace trasmuon
