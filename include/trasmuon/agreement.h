// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trasmuon/export.h"
#include "trasmuon/optimizer.h"

namespace trasmuon {

/// Describes what the optimizers of all ranks must have in common, one fact per line: version, settings, the options of
/// every group, and of every parameter the name, type, shape of the whole weight, layout and kind of device. Callers
/// may append lines of their own.
TRASMUON_API std::string describe_table(const Optimizer& optimizer);

/// Returns a hash of a description. Ranks compare it when they start, and exchange the descriptions if it differs.
TRASMUON_API std::uint64_t fingerprint(std::string_view description);

/// Returns "" if two descriptions are equal, else the first line that differs: "line 3: 'lr = 0.1' and 'lr = 0.2'".
TRASMUON_API std::string first_difference(std::string_view one, std::string_view other);

}  // namespace trasmuon
