// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trasmuon::lab {

double usable_memory();  ///< bytes of this machine, or of the control group if that has a limit

std::string bytes_text(double bytes);  ///< "512 bytes", "3.4 GB"

}  // namespace trasmuon::lab
