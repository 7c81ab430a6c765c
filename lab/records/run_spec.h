// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/options.h>

#include <cstdint>
#include <string>

#include "lab/records/json.h"

namespace trasmuon::lab {

/// Everything that determines the numbers of one run.
struct RunSpec {
  std::string study;
  std::string method;  ///< its name in the recipe: "clip-sf"
  Options options;     ///< the rule and all its fields
  Json settings;       ///< all of the study's settings, defaults filled in
  std::uint64_t seed = 0;
};

Json to_json(const RunSpec& spec);  ///< options as {"rule": "trasmuon", "lr": 0.008, ...}
RunSpec run_spec_from_json(const Json& json);

/// The folder name of the run, "clip-sf-s3-1a2b3c4d5e6f7081": method, seed and a hash of everything.
/// Two parts of a recipe that ask for the same run share it.
std::string run_id(const RunSpec& spec);

}  // namespace trasmuon::lab
