// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "lab/cli/commands.h"
#include "lab/cli/recipe_files.h"
#include "lab/runner/progress.h"
#include "lab/runner/recipe.h"
#include "lab/runner/runner.h"

namespace trasmuon::lab {
namespace {

std::string runs_text(std::size_t count) { return fmt::format("{} run{}", count, count == 1 ? "" : "s"); }

/// The last lines: how it ended and what to do next.
int conclude(const Outcome& outcome, const RunCommand& command, const std::string& out, double seconds) {
  const std::size_t done = outcome.before + outcome.finished;
  const std::string report = fmt::format("{} report {}", command.program, out);
  if (outcome.signal != 0) {
    fmt::print("stopped with {} of {} finished; the same command continues\n", done, runs_text(outcome.planned));
    return 128 + outcome.signal;
  }
  if (!outcome.trouble.empty()) {
    fmt::print(stderr, "trasmuon: {}\n", outcome.trouble);
    fmt::print("given up with {} of {} finished; the same command continues\n", done, runs_text(outcome.planned));
    return 1;
  }
  if (outcome.failed > 0) {
    fmt::print("{} failed, {} of {} finished; the messages are in {}/runs/*/stderr.txt\n", runs_text(outcome.failed),
               done, outcome.planned, out);
    fmt::print("the same command tries the failed ones again; on what there is: {}\n", report);
    return 1;
  }
  if (outcome.finished == 0) fmt::print("all {} are finished, in {}\n", runs_text(done), out);
  else fmt::print("{} in {}, in {}\n", runs_text(outcome.finished), duration_text(seconds), out);
  fmt::print("next: {}\n", report);
  return 0;
}

}  // namespace

int run_command(const RunCommand& command) {
  const auto file = find_recipe(command.recipe);
  const Plan plan = read_recipe(file, command.overrides);
  const std::string out = command.out.empty() ? "out/" + plan.name : command.out;
  fmt::print(stderr, "{}: {}\n", plan.name, plan.title);
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
