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
  int jobs = 0;         ///< runs at once; 0: as many as cores and memory hold
  std::string command;  ///< as typed, for plan.json
  std::FILE* console = stderr;
  bool terminal = false;  ///< the console can redraw a line
};

struct Outcome {
  std::size_t planned = 0;           ///< different runs
  std::size_t already_finished = 0;  ///< of these, by an earlier call
  std::size_t finished = 0;          ///< by this call
  std::size_t failed = 0;
  int signal = 0;           ///< the signal that stopped it; 0: none
  std::string write_error;  ///< why it stopped early: records could not be written
};

/// Does every run of the plan that OUT does not contain yet, each in a forked process, up to `jobs` at once, and
/// replaces OUT/plan.json. The calling process must have no other threads. A run that fails leaves its message in
/// OUT/runs/ID/stderr.txt and is retried by the next call, from its last checkpoint if it left one; the others
/// continue. SIGINT, SIGTERM and SIGHUP end it.
Outcome run_plan(const Plan& plan, const RunnerOptions& options);

}  // namespace trasmuon::lab
