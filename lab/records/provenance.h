// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/records/run_set.h"

namespace trasmuon::lab {

/// The code and the machine that made some of the runs.
struct Provenance {
  std::string revision;  ///< "unknown revision" for records of versions that did not write it
  std::string machine;   ///< "cpu ..., cores 2, ..."
  std::size_t runs = 0;
};

/// All that occur among the finished runs, the most frequent first. A run that two parts share counts once.
std::vector<Provenance> provenance_of(const RunSet& runs);

}  // namespace trasmuon::lab
