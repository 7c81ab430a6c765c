// SPDX-License-Identifier: Apache-2.0
// The input has a line per parameter, "NAME SIZE SIZE ...", and a line per override, "!PATTERN" (to AdamW) or
// "+PATTERN" (to the matrix rule).
#include "trasmuon/classify.h"

#include <charconv>

#include "fuzz/fuzz.h"
#include "trasmuon/error.h"

namespace {

using namespace trasmuon;

NamedShape parameter_of(std::string_view line) {
  const std::vector<std::string_view> words = fuzz::split(line, " ");
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::from_chars(words[i].data(), words[i].data() + words[i].size(), sizes.emplace_back());
  }
  return {std::string(words.front()), Shape(std::span<const std::int64_t>(sizes))};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<NamedShape> parameters;
  std::vector<FamilyOverride> overrides;
  try {
    for (const std::string_view line : fuzz::split(fuzz::text_of(data, size), "\n")) {
      if (line.starts_with('!')) overrides.push_back({std::string(line.substr(1)), Family::adamw});
      else if (line.starts_with('+')) overrides.push_back({std::string(line.substr(1)), Family::matrix});
      else parameters.push_back(parameter_of(line));
    }
    const std::vector<Classified> table = classify(parameters, overrides);
    fuzz::require(table.size() == parameters.size(), "every parameter is classified");
    to_string(table);
  } catch (const Error&) {
  }
  return 0;
}
