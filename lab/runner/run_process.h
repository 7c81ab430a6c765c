// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "lab/records/run_spec.h"

namespace trasmuon::lab {

/// How a run's process ended.
struct RunEnd {
  bool finished = false;
  bool cannot_write = false;  ///< it could not write its records; other runs would fail as well
  std::string message;        ///< why it failed
};

/// What a run tells the process that started it, in shared memory: the only way on a full disk.
struct RunReport {
  std::atomic<double> fraction;  ///< done
  char message[512];             ///< why it failed, cut to this length
};

/// Starts the run in a forked process, on as many threads as the study asks for, its output in FOLDER/stderr.txt. It
/// continues from the checkpoint in the folder; if there is none, what is in the folder is removed first. `report` must
/// be shared memory.
pid_t start_run(const RunSpec& spec, const std::filesystem::path& folder, RunReport& report);

/// How the run ended, from the `status` of waitpid, its report and its folder.
RunEnd end_of_run(int status, const RunReport& report, const std::filesystem::path& folder);

}  // namespace trasmuon::lab
