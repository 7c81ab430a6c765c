// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cuda/newton_schulz/iteration.h"
#include "stages/arena.h"
#include "stages/newton_schulz_form.h"
#include "stages/plan.h"
#include "trasmuon/tensor.h"

// The Gram form on Hopper's tensor cores, with 16-bit iterates. Expects an input of RMS kHalfRangeRms.
namespace trasmuon::cuda {

std::unique_ptr<Iteration> make_gram_form(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                          DType dtype, int multiprocessors, Arena& scratch);
std::size_t gram_form_scratch_bytes(const std::vector<Bucket>& buckets, int multiprocessors);
/// Whether the output is in the input's memory: after an even number of passes over X.
bool gram_form_in_place(const OrthogonalizeStage& stage, DType dtype);

/// Whether 16 bits can hold these coefficients in Gram form, which adds b / c on a diagonal.
bool fits_gram_form(const OrthogonalizeStage& stage);

/// Frobenius norm of a matrix of the bucket's shape whose RMS is kHalfRangeRms.
double half_range_norm(const Bucket& bucket);

}  // namespace trasmuon::cuda
