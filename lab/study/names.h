// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trasmuon::lab {

/// "; did you mean 'kappa'?" where a known name is near, else "; known: a, b, c".
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

std::string joined(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace trasmuon::lab
