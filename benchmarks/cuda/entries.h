// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workload.h"

namespace trasmuon::bench {

/// A model or a shape, as models.json lists it.
struct Entry {
  std::string name;
  bool is_model = false;
  std::vector<NamedMatrix> matrices;
};

/// Reads models.json. Throws Error, with the names, if it has none of this name; no names: all entries.
std::vector<Entry> read_entries(const std::vector<std::string>& only);

}  // namespace trasmuon::bench
