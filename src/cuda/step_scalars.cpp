// SPDX-License-Identifier: Apache-2.0
#include "cuda/step_scalars.h"

#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

void set_scalars(const MuonPipeline& p, StepScalars& s) {
  s.lr = p.lr;
  s.decay = decay_of(p.lr, p.weight_decay);
  s.skip_nonfinite = p.skip_nonfinite;
  s.momentum = p.momentum;
  if (p.orthogonalize) s.input_norm = p.orthogonalize->norm;
  s.has_row_scale = p.row_scale.has_value();
  if (p.row_scale) s.row_scale = *p.row_scale;
  s.calibrate = p.calibrate;
  s.has_trust_region = p.trust_region.has_value();
  if (p.trust_region) s.trust_region = *p.trust_region;
}

void set_scalars(const DionOptions& o, StepScalars& s) {
  s.lr = o.lr;
  s.decay = decay_of(o.lr, o.weight_decay);
  s.dion_momentum = o.momentum;
}

void set_scalars(const AdamWOptions& o, StepScalars& s) { s.adamw = o; }

/// Whether the trust regions of two plans take the same kernels in the same order.
bool same_trust_region(const Plan& a, const Plan& b) {
  const auto stage_of = [](const Plan& plan) {
    const auto* pipeline = std::get_if<MuonPipeline>(&plan);
    return pipeline != nullptr && pipeline->trust_region ? &*pipeline->trust_region : nullptr;
  };
  const TrustRegionStage *x = stage_of(a), *y = stage_of(b);
  if (x == nullptr || y == nullptr) return x == y;
  return x->energy_of == y->energy_of && x->needs_direction() == y->needs_direction();
}

}  // namespace

StepScalars scalars_of(const Plan& plan) {
  StepScalars scalars{};
  std::visit([&](const auto& p) { set_scalars(p, scalars); }, plan);
  return scalars;
}

const OrthogonalizeStage* orthogonalization_of(const Plan& plan) {
  const auto* pipeline = std::get_if<MuonPipeline>(&plan);
  return pipeline != nullptr && pipeline->orthogonalize ? &*pipeline->orthogonalize : nullptr;
}

bool same_kernels(const Plan& a, const Plan& b) {
  if (a.index() != b.index() || !same_trust_region(a, b)) return false;
  const OrthogonalizeStage *x = orthogonalization_of(a), *y = orthogonalization_of(b);
  if (x == nullptr || y == nullptr) return x == y;
  return x->precision == y->precision && x->form == y->form && x->triples == y->triples;
}

}  // namespace trasmuon::cuda
