// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trasmuon/export.h"

namespace trasmuon {

/// Threads the CPU backend uses, process-wide. Default: the TRASMUON_NUM_THREADS
/// environment variable, else the hardware's. Results do not depend on the number. Not to be
/// set while another thread steps.
TRASMUON_API void set_num_threads(int threads);
TRASMUON_API int num_threads();

}  // namespace trasmuon
