// SPDX-License-Identifier: Apache-2.0
// The input is the name of a rule, then lines FIELD=VALUE, which are set one after the other; a line without '=' is a
// list of Newton-Schulz coefficients.
#include "trasmuon/options.h"
#include "fuzz/fuzz.h"
#include "trasmuon/error.h"
#include "trasmuon/newton_schulz.h"
#include "trasmuon/option_fields.h"

namespace {

using namespace trasmuon;

void set_line(Options& options, std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    newton_schulz_triples(line, 5);
    return;
  }
  const std::string_view field = line.substr(0, equals);
  const std::string before = describe(options);
  try {
    set_field(options, field, line.substr(equals + 1));
  } catch (const Error&) {
    fuzz::require(describe(options) == before, "a refused value changes nothing");
    throw;
  }
  validate(options);
  const std::string value = get_field(options, field);
  set_field(options, field, value);
  fuzz::require(get_field(options, field) == value, "a value reads back as it was");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string_view> lines = fuzz::split(fuzz::text_of(data, size), "\n");
  try {
    Options options = options_for(lines.front());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      try {
        set_line(options, lines[i]);
      } catch (const Error&) {
      }
    }
    warnings(options);
    describe(options);
  } catch (const Error&) {
  }
  return 0;
}
