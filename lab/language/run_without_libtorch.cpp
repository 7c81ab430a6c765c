// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>

#include "lab/language/run.h"

namespace trasmuon::lab {

std::string_view language_missing() { return "LibTorch"; }

Json run_language(const RunSpec&, RunLog&) { throw Error("study 'language' needs LibTorch"); }

}  // namespace trasmuon::lab
