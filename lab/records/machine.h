// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/records/json.h"

namespace trasmuon::lab {

std::string cpu_model();
int usable_cores();     ///< that this process may run on
std::string utc_now();  ///< ISO 8601

/// Lets the library, and the BLAS that LibTorch uses, work with so many threads.
void use_threads(int count);

/// {"cpu": ..., "cores": 2, "system": ..., "compiler": ..., "blas": ..., "version": ...}
Json describe_machine();

}  // namespace trasmuon::lab
