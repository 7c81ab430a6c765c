// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>

#include "lab/pinn/run.h"

namespace trasmuon::lab {

std::string_view pinn_missing() { return "LibTorch"; }

Json run_pinn(const RunSpec&, RunLog&) { throw Error("study 'pinn' needs LibTorch"); }

}  // namespace trasmuon::lab
