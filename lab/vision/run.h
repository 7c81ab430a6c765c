// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lab/records/run_log.h"
#include "lab/records/run_spec.h"

// Training needs LibTorch: run.cpp defines these functions in a build with it, run_without_libtorch.cpp in one without.
namespace trasmuon::lab {

/// What this build lacks to run the study; empty if it can.
std::string_view vision_missing();

/// Does one run and returns its summary.
Json run_vision(const RunSpec& spec, RunLog& log);

}  // namespace trasmuon::lab
