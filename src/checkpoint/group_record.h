// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "trasmuon/options.h"

namespace trasmuon {

/// A group's options as text.
struct GroupRecord {
  std::string rule;
  std::map<std::string, std::string> fields;
};

GroupRecord record_of(const Options& options);

/// Returns the recorded options. A field that is missing in the record (written by an older
/// library) keeps its value in `current`. Throws Error on another rule, an unknown field or a bad value.
Options options_from(const GroupRecord& record, const Options& current);

}  // namespace trasmuon
