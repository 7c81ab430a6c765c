// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "lab/cli/commands.h"
#include "lab/cli/shell.h"
#include "lab/recipe/files.h"
#include "lab/recipe/recipe.h"
#include "lab/runner/console.h"
#include "lab/runner/progress.h"
#include "lab/runner/runner.h"

namespace trasmuon::lab {
namespace {

std::string runs_text(std::size_t count) { return fmt::format("{} run{}", count, count == 1 ? "" : "s"); }

/// The last lines: how it ended and what to do next.
int conclude(const Outcome& outcome, const RunCommand& command, const std::string& out, double seconds) {
  const std::size_t done = outcome.already_finished + outcome.finished;
  const std::string report = fmt::format("{} report {}", shell_path(command.program), shell_path(out));
  if (outcome.signal != 0) {
    print(stdout, "stopped with {} of {} finished; the same command continues\n", done, runs_text(outcome.planned));
    return 128 + outcome.signal;
  }
  if (!outcome.write_error.empty()) {
    print(stderr, "trasmuon: {}\n", outcome.write_error);
    print(stdout, "stopped with {} of {} finished; the same command continues\n", done, runs_text(outcome.planned));
    return 1;
  }
  if (outcome.failed > 0) {
    print(stdout, "{} failed, {} of {} finished; error messages are in {}/runs/*/stderr.txt\n",
          runs_text(outcome.failed), done, outcome.planned, shell_path(out));
    print(stdout, "the same command retries the failed runs; to report on the finished ones: {}\n", report);
    return 1;
  }
  if (outcome.finished == 0)
    print(stdout, "all {} are already finished; records are in {}\n", runs_text(done), shell_path(out));
  else
    print(stdout, "finished {} in {}; records are in {}\n", runs_text(outcome.finished), duration_text(seconds),
          shell_path(out));
  print(stdout, "next: {}\n", report);
  return 0;
}

}  // namespace

int run_command(const RunCommand& command) {
  const auto file = find_recipe(command.recipe);
  const Plan plan = read_recipe(file, command.overrides, command.selection);
  const std::string out = command.out.empty() ? "out/" + plan.name : command.out;
  print(stderr, "{}: {}\n", plan.name, plan.title);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_plan(plan, {.out = out,
                                          .jobs = command.jobs,
                                          .command = command.command,
                                          .console = stderr,
                                          .terminal = ::isatty(STDERR_FILENO) == 1});
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return conclude(outcome, command, out, elapsed.count());
}

}  // namespace trasmuon::lab
