// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

#include "lab/records/plan.h"

namespace trasmuon::lab {

struct RunnerOptions {
  std::filesystem::path out;
  int jobs = 0;         ///< runs at once; 0: one per core
  std::string command;  ///< as typed, for plan.json
  std::FILE* console = stderr;
  bool terminal = false;  ///< the console can redraw a line
};

struct Outcome {
  std::size_t planned = 0;   ///< different runs
  std::size_t before = 0;    ///< of these, finished by an earlier start
  std::size_t finished = 0;  ///< now
  std::size_t failed = 0;
  int signal = 0;       ///< the one that stopped it
  std::string trouble;  ///< why it was given up: records cannot be written
};

/// Makes every run of the plan that OUT does not hold yet, each in a forked process, up to `jobs` at once, and replaces
/// OUT/plan.json. The calling process must have no other threads. A run that fails leaves its message in
/// OUT/runs/ID/stderr.txt and is tried anew by the next call; the others go on. SIGINT, SIGTERM and SIGHUP end it.
Outcome run_plan(const Plan& plan, const RunnerOptions& options);

}  // namespace trasmuon::lab
