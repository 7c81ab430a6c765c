// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/training.h"

#include <ATen/Parallel.h>
#include <trasmuon/libtorch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lab/pinn/events.h"
#include "lab/pinn/helmholtz.h"
#include "lab/pinn/residual_loss.h"

namespace trasmuon::lab {
namespace {

constexpr at::ScalarType kType = at::kFloat;
constexpr int kGridSide = 128, kPatchSide = 64, kOutsidePoints = 4096;
constexpr std::uint32_t kStartStream = 0xffffffff;  // streams 0, 1, ... are the steps'

Mlp starting_network(const PinnSettings& settings, std::uint64_t seed) {
  Random random(seed, kStartStream);
  return Mlp(settings.width, settings.depth, kType, [&] { return random.uniform(); });
}

/// The weights under the method's rule, those from hidden to hidden first, and the rest under AdamW.
std::vector<libtorch::OptimizerParamGroup> parameter_groups(const Mlp& mlp, const PinnSettings& settings,
                                                            const Options& options) {
  std::vector<at::Tensor> matrices, others{mlp.layers.front().weight, mlp.layers.back().weight};
  for (std::size_t i = 1; i + 1 < mlp.layers.size(); ++i) matrices.push_back(mlp.layers[i].weight);
  if (settings.matrix_layers != "hidden") {
    matrices.insert(matrices.end(), others.begin(), others.end());
    others.clear();
  }
  std::vector<at::Tensor>& biases = settings.matrix_layers == "everything" ? matrices : others;
  for (const Mlp::Layer& layer : mlp.layers) biases.push_back(layer.bias);

  const AdamWOptions rest{.lr = settings.other_lr, .weight_decay = 0};
  std::vector<libtorch::OptimizerParamGroup> groups;
  if (!matrices.empty()) groups.push_back(libtorch::group(matrices, options));
  if (!others.empty()) groups.push_back(libtorch::group(others, rest));
  return groups;
}

/// Points at which the error is measured.
struct ErrorPoints {
  explicit ErrorPoints(const Points& given) : points(to_tensor(given, kType)), solution(Helmholtz{}.solution(points)) {}

  at::Tensor points, solution;
};

}  // namespace

struct PinnTraining::Impl {
  Impl(const PinnSettings& settings_given, const Options& options, std::uint64_t seed_given)
      : settings(settings_given),
        seed(seed_given),
        mlp(starting_network(settings, seed)),
        optimizer(parameter_groups(mlp, settings, options), options, {.diagnostics = true}),
        grid(grid_points(kUnitSquare, kGridSide)) {}

  // Losses; their gradients are added to the parameters'.
  double residual_loss(const Points& points) const {
    const auto add_gradients =
        settings.laplacian == "forward" ? add_residual_gradients : add_residual_gradients_by_autograd;
    return add_gradients(mlp, Helmholtz{}, to_tensor(points, kType));
  }

  double boundary_loss(const Points& points) const {  // u* = 0 there
    const at::Tensor loss = 0.5 * mlp.forward(to_tensor(points, kType)).square().mean();
    (settings.boundary_weight * loss).backward();
    return loss.item<double>();
  }

  at::Tensor flat_parameters() const {
    std::vector<at::Tensor> flat;
    for (const Mlp::Layer& layer : mlp.layers) {
      flat.push_back(layer.weight.detach().flatten());
      flat.push_back(layer.bias.detach());
    }
    return at::cat(flat);
  }

  double relative_error(const ErrorPoints& at_points) const {
    at::NoGradGuard no_grad;
    return lab::relative_l2(mlp.forward(at_points.points), at_points.solution);
  }

  PinnSettings settings;
  std::uint64_t seed;
  int next_step = 0;
  Mlp mlp;
  libtorch::Optimizer optimizer;
  ErrorPoints grid;
};

PinnTraining::PinnTraining(const PinnSettings& settings, const Options& options, std::uint64_t seed) {
  at::set_num_threads(1);
  impl_ = std::make_unique<Impl>(settings, options, seed);
}

PinnTraining::~PinnTraining() = default;

PinnStep PinnTraining::step() {
  const PinnSettings& settings = impl_->settings;
  const int step = impl_->next_step++;
  PinnStep seen;
  Patch patch = kUnitSquare;
  if (settings.events && is_event_step(step, settings.first_event, settings.event_period)) {
    seen.patch = patch_at(step);
    patch = kPatches[seen.patch];
  }
  // A stream per step: runs that differ in their events alone have the same points in all other steps.
  Random random(impl_->seed, static_cast<std::uint32_t>(step));

  impl_->optimizer.zero_grad();
  seen.loss_pde = impl_->residual_loss(interior_points(random, settings.interior_points, patch, settings.roi_fraction));
  seen.loss_boundary = impl_->boundary_loss(boundary_points(random, settings.boundary_points));
  seen.loss = seen.loss_pde + settings.boundary_weight * seen.loss_boundary;

  const at::Tensor before = impl_->flat_parameters();
  impl_->optimizer.step();
  seen.step_size = root_mean_square(impl_->flat_parameters() - before);

  const int hidden = settings.depth - 1;
  if (hidden > 0) seen.c_mean = 0;
  for (int i = 0; i < hidden; ++i) {
    const Diagnostics& matrix = optimizer().diagnostics(static_cast<std::size_t>(i))[0];
    seen.r_max = std::max(seen.r_max, matrix.r_max);
    seen.c_min = std::min(seen.c_min, matrix.c_min);
    seen.c_mean += matrix.c_mean / hidden;
  }
  return seen;
}

int PinnTraining::patch_at(int step) const {
  const int given = impl_->settings.patch_seed;
  return patch_of_step(step, given >= 0 ? static_cast<std::uint64_t>(given) : impl_->seed);
}

double PinnTraining::relative_l2() const { return impl_->relative_error(impl_->grid); }

LocalError PinnTraining::local_error(int patch) const {
  at::NoGradGuard no_grad;
  const ErrorPoints roi(grid_points(kPatches[patch], kPatchSide));
  Random random(static_cast<std::uint64_t>(patch));  // the same points in every run
  const ErrorPoints outside(outside_points(random, kOutsidePoints, kPatches[patch]));
  return {impl_->relative_error(roi), root_mean_square(impl_->mlp.forward(roi.points) - roi.solution),
          impl_->relative_error(outside)};
}

const trasmuon::Optimizer& PinnTraining::optimizer() const { return impl_->optimizer.core(); }

}  // namespace trasmuon::lab
