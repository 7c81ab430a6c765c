// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/iteration_plan.h"

#include "cuda/newton_schulz/gram_form.h"
#include "cuda/newton_schulz/small_form.h"
#include "cuda/newton_schulz/standard_form.h"

namespace trasmuon::cuda {
namespace {

DType iteration_type(const OrthogonalizeStage& stage, DType compute, const DeviceInfo& device) {
  if (compute == DType::f64) return DType::f64;
  if (stage.triples.empty()) return DType::f32;
  switch (stage.precision) {
    case NewtonSchulzPrecision::automatic: return device.hopper && !fits_gram_form(stage) ? DType::f32 : DType::f16;
    case NewtonSchulzPrecision::f16: return DType::f16;
    case NewtonSchulzPrecision::bf16: return DType::bf16;
    default: return DType::f32;
  }
}

}  // namespace

IterationPlan plan_iteration(const OrthogonalizeStage& stage, DType compute, std::int64_t short_side,
                             const DeviceInfo& device) {
  using Form = IterationPlan::Form;
  const DType dtype = iteration_type(stage, compute, device);
  if (stage.triples.empty()) return {Form::none, dtype};
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  if (!half || !device.hopper || stage.form == NewtonSchulzForm::standard || !fits_gram_form(stage))
    return {Form::standard, dtype};
  return {short_side <= kSmallSide ? Form::small : Form::gram, dtype};
}

bool IterationPlan::in_place(const OrthogonalizeStage& stage) const {
  return form != Form::gram || gram_form_in_place(stage, dtype);
}

InputScale IterationPlan::input_scale() const {
  return form == Form::gram || form == Form::small ? InputScale::half_range : InputScale::unit;
}

std::size_t IterationPlan::scratch_bytes(const std::vector<Bucket>& buckets, const DeviceInfo& device) const {
  switch (form) {
    case Form::gram: return gram_form_scratch_bytes(buckets, device.multiprocessors);
    case Form::standard: return standard_form_scratch_bytes(buckets, dtype);
    default: return 0;
  }
}

std::unique_ptr<Iteration> IterationPlan::make(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                               const DeviceInfo& device, Arena& scratch) const {
  switch (form) {
    case Form::gram: return make_gram_form(buckets, stage, dtype, device.multiprocessors, scratch);
    case Form::small: return make_small_form(buckets, stage, dtype);
    case Form::standard: {
      const Precision precision{dtype, stage.precision == NewtonSchulzPrecision::tf32};
      return make_standard_form(buckets, stage, precision, device.blas, scratch);
    }
    default: return nullptr;
  }
}

}  // namespace trasmuon::cuda
