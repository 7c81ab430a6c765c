// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "lab/config/fields.h"
#include "lab/config/run_spec.h"
#include "lab/records/run_log.h"

namespace trasmuon::lab {

/// An experiment: settings, and what one run of it does.
class Study {
 public:
  virtual ~Study() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view description() const = 0;  ///< one line
  virtual std::vector<Field> settings() const = 0;
  /// All settings, with those given put in; throws Error on an unknown key or a bad value.
  virtual Json complete(const Json& given) const = 0;
  /// Runs on one thread, writes metrics to the log and returns the summary (numbers by name). Must depend on the spec
  /// alone: same spec, same machine, same numbers.
  virtual Json run(const RunSpec& spec, RunLog& log) const = 0;
};

/// All studies of this build. A study that needs LibTorch is missing from a build without it.
const std::vector<const Study*>& studies();

/// Throws Error with the known names, and what a missing study needs.
const Study& find_study(std::string_view name);

}  // namespace trasmuon::lab
