// SPDX-License-Identifier: Apache-2.0
#include "lab/records/json.h"

#include <charconv>

namespace trasmuon::lab {

std::string to_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value.get<double>()).ptr;
  return {buffer, end};
}

}  // namespace trasmuon::lab
