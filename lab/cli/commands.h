// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/data/tokens/prepare.h"
#include "lab/recipe/selection.h"

// The program's commands. Each prints to stdout and returns the exit code; user errors are thrown as Error.
namespace trasmuon::lab {

struct RunCommand {
  std::string program;  ///< as it was called, for hints
  std::string command;  ///< the whole line
  std::string recipe;   ///< a file, or the name of a known recipe
  std::string out;      ///< empty: out/NAME
  int jobs = 0;
  std::vector<std::string> overrides;
  Selection selection;
};
int run_command(const RunCommand& command);

int report_command(const std::string& runs, const std::string& out);

/// `what`: empty, studies, settings, recipes, methods or rules; `name`: of a study, recipe or rule.
int list_command(const std::string& what, const std::string& name);

int doctor_command();

int bench_command();

int prepare_command(const PrepareOptions& options);

}  // namespace trasmuon::lab
