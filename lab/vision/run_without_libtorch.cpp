// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>

#include "lab/vision/run.h"

namespace trasmuon::lab {

std::string_view vision_missing() { return "LibTorch"; }

Json run_vision(const RunSpec&, RunLog&) { throw Error("study 'vision' needs LibTorch"); }

}  // namespace trasmuon::lab
