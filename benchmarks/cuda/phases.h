// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/parameters.h"
#include "samples.h"

namespace trasmuon::bench {

/// Milliseconds of one part of a step, on the GPU.
struct PhaseTime {
  std::string name;
  Samples milliseconds;
};

/// Times TrasMuon's step over `ranks` ranks that share this GPU, each with its rows of the matrices: together they do
/// what one step does, in phases, and copies on the GPU stand for the exchanges. First the sum of the phases of all
/// ranks, then the sum of the exchanges, then each phase.
std::vector<PhaseTime> time_phases(std::span<const NamedMatrix> matrices, const CudaParameters& parameters, int ranks,
                                   DType wire, int repeats);

}  // namespace trasmuon::bench
