// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace trasmuon::lab {

using Json = nlohmann::json;  ///< keys are sorted, so equal values have equal text

std::string to_text(const Json& value);  ///< as in a recipe or on a command line: "soft" without quotes, 2 for 2.0

}  // namespace trasmuon::lab
