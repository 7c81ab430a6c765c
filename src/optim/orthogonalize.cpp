// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/orthogonalize.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "optim/device.h"
#include "optim/layout.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

std::mutex& kept_backends_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Returns the backend of a device, which is never destroyed: a CUDA backend takes long to build, and at the end of the
/// process the driver may be unloaded first.
Backend& kept_backend(Device device) {
  static auto& backends = *new std::map<Device, std::unique_ptr<Backend>>;
  std::unique_ptr<Backend>& found = backends[device];
  if (found == nullptr) found = make_backend(device);
  return *found;
}

}  // namespace

void orthogonalize(const TensorView& in, const TensorView& out, const NewtonSchulzOptions& options) {
  if (options.steps < 0 || options.steps > 100) {
    throw Error("orthogonalize: steps must be in [0, 100], got " + std::to_string(options.steps));
  }
  if (!(options.eps >= 0)) throw Error("orthogonalize: eps must be >= 0, got " + std::to_string(options.eps));
  if (!(in.shape == out.shape)) {
    throw Error("orthogonalize: out's shape must be " + to_string(in.shape) + ", got " + to_string(out.shape));
  }
  if ((in.dtype == DType::f64) != (out.dtype == DType::f64)) {
    throw Error(std::string("orthogonalize: in and out must both be f64, or neither, got ") + to_string(in.dtype) +
                " and " + to_string(out.dtype));
  }
  const ParameterLayout from = layout_for_matrix_rule({.name = "in", .weight = in});
  const ParameterLayout to = layout_for_matrix_rule({.name = "out", .weight = out});
  const OrthogonalizeStage stage{newton_schulz_triples(options.coefficients, options.steps),
                                 options.form,
                                 options.precision,
                                 {.eps_absolute = options.eps}};
  std::vector<MatrixView> sources, targets;
  for (std::int64_t entry = 0; entry < from.batch; ++entry) {
    sources.push_back(slice(from, in, entry, 0));
    targets.push_back(slice(to, out, entry, 0));
  }
  const auto run = [&](Backend& backend) {
    backend.check_precision(options.precision, "orthogonalize: precision");
    backend.orthogonalize(sources, targets, stage, options.stream);
  };
  if (options.device == Device::cpu()) {
    run(*make_cpu_backend());
  } else {
    const std::scoped_lock lock(kept_backends_mutex());
    run(kept_backend(options.device));
  }
}

}  // namespace trasmuon
