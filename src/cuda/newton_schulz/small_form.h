// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cuda/hopper/tile_sizes.h"
#include "cuda/newton_schulz/iteration.h"
#include "stages/plan.h"
#include "trasmuon/tensor.h"

namespace trasmuon::cuda {

/// The Gram form with one block of threads per matrix: on Hopper, in 16 bits, for short sides up to kSmallSide. Expects
/// its input like the Gram form; works in place and needs no scratch.
std::unique_ptr<Iteration> make_small_form(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                           DType dtype);

}  // namespace trasmuon::cuda
