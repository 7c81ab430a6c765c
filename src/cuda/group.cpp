// SPDX-License-Identifier: Apache-2.0
#include "cuda/group.h"

#include "cuda/runtime/capture.h"
#include "cuda/step.h"
#include "cuda/step_scalars.h"

namespace trasmuon::cuda {

void Group::make_plan(std::span<const Matrix> matrices, const Plan& step) {
  check(cudaDeviceSynchronize(), "waiting for the previous step");
  captured_outdated_ |= !captured_.empty();
  captured_ = {};
  recorded_.reset();
  plan_.reset();  // frees its scratch before the new plan allocates
  plan_.emplace(device_, matrices, step);
}

void Group::prepare(std::span<const Matrix> matrices, const Plan& step, cudaStream_t stream) {
  if (!plan_ || !plan_->fits(step)) {
    refuse_capture(stream);
    make_plan(matrices, step);
  }
  if (!recorded_ && !is_capturing(stream)) recorded_.emplace(*plan_, side_, own_);
}

void Group::run(std::span<const Matrix> matrices, const Plan& step, cudaStream_t stream) {
  if (is_capturing(stream)) {
    enqueue_step(*plan_, captured_.add(*plan_, matrices, scalars_of(step), own_), side_, stream);
    captured_outdated_ = false;
    return;
  }
  plan_->refresh(matrices, scalars_of(step), stream);
  recorded_->replay(stream);
}

void Group::check_recorded(const Plan& step, cudaStream_t stream) const {
  if (is_capturing(stream)) throw Error("refresh_recorded: cannot be captured itself, call it between replays");
  if (captured_outdated_ || (!captured_.empty() && !plan_->fits(step)))
    throw Error("refresh_recorded: the stages of the step have changed since it was captured, capture it again");
}

void Group::refresh_recorded(const Plan& step, cudaStream_t stream) { captured_.refresh(scalars_of(step), stream); }

void Group::diagnose(std::span<const Matrix> matrices, std::size_t first, std::size_t count) {
  if (!plan_) return;
  check(cudaDeviceSynchronize(), "waiting for the step");
  for (const auto& batch : plan_->batches()) batch->diagnose(matrices, first, count, device_.blas);
}

}  // namespace trasmuon::cuda
