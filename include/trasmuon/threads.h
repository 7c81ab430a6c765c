// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon {

/// Threads the CPU backend uses, process-wide. Default: the TRASMUON_NUM_THREADS
/// environment variable, else the hardware's. Results do not depend on the number.
void set_num_threads(int threads);
int num_threads();

}  // namespace trasmuon
