// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "lab/config/run_spec.h"

namespace trasmuon::lab {

/// How a run's process ended.
struct RunEnd {
  bool finished = false;
  bool cannot_write = false;  ///< failed, and so will the others
  std::string message;        ///< of a failure
};

/// Starts the run in a forked process, on one thread, its output in FOLDER/stderr.txt. What is in the folder is removed
/// first. `progress` must be shared memory.
pid_t start_run(const RunSpec& spec, const std::filesystem::path& folder, std::atomic<double>& progress);

/// What `status` of waitpid and the folder tell.
RunEnd end_of_run(int status, const std::filesystem::path& folder);

}  // namespace trasmuon::lab
