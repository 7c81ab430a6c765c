// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/records/run_log.h"
#include "lab/records/run_set.h"
#include "lab/records/run_spec.h"
#include "lab/report/document.h"
#include "lab/report/figures/gnuplot.h"
#include "lab/study/settings.h"

namespace trasmuon::lab {

/// An experiment: its settings, what one run of it does, and the report about its runs.
class Study {
 public:
  virtual ~Study() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view description() const = 0;  ///< one line
  virtual std::vector<Field> settings() const = 0;

  /// Returns all settings: the given ones, and defaults for the rest. Throws Error on an unknown key or a bad value.
  virtual Json complete(const Json& given) const = 0;

  /// Throws Error("NAME: key must be ...") if a run cannot work although each of its values is allowed: settings that
  /// contradict the rule, options that the optimizer refuses. Recipes are checked with it before the first run.
  virtual void check(const RunSpec& spec) const = 0;

  /// Throws Error("NAME: key ...") if this machine lacks what a run with these settings reads: data files. Called
  /// before the first run of a plan, not when recipes are listed.
  virtual void check_machine(const Json& /*settings*/) const {}

  /// Returns about how many bytes of memory one run with these settings needs.
  virtual double memory(const Json& settings) const = 0;

  /// Returns how many cores one run with these settings uses: as many runs are done at once as the cores hold.
  virtual int cores(const Json& /*settings*/) const { return 1; }

  /// Names what this build lacks to run the study ("LibTorch"); empty if it can run. Reports need nothing.
  virtual std::string_view missing() const { return {}; }

  /// Does one run on cores() threads, writes metrics to the log and returns the summary (numbers by name). The numbers
  /// must depend on the spec alone: same spec, same machine, same numbers; also if the run was killed and continues
  /// from a checkpoint (records/checkpoint.h) in the log's folder.
  virtual Json run(const RunSpec& spec, RunLog& log) const = 0;

  /// Names the numbers of a summary that `trasmuon report` prints on the terminal. Default: all numbers.
  virtual std::vector<std::string> main_numbers() const { return {}; }

  /// Adds the body of the report. Groups without finished runs are left out or shown as dashes. Default: medians of
  /// every number.
  virtual void report(const RunSet& runs, Document& document, Gnuplot& gnuplot) const;
};

}  // namespace trasmuon::lab
