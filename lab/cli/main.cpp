// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>
#include <trasmuon/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "lab/cli/commands.h"

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  trasmuon list                              studies, recipes, rules\n"
    "  trasmuon run mechanistic-desk              into out/mechanistic-desk; again: continues\n"
    "  trasmuon report out/mechanistic-desk       tables and figures of these runs\n";

constexpr const char* kRunExamples =
    "Examples:\n"
    "  trasmuon run mechanistic-desk\n"
    "  trasmuon run my.toml --out out/try --jobs 4 --set steps=200 --set seeds=2\n"
    "Ctrl-C stops it; the same command continues where it was. Finished runs are never made again.\n";

constexpr const char* kListExamples =
    "Examples:\n"
    "  trasmuon list\n"
    "  trasmuon list settings mechanistic\n"
    "  trasmuon list methods mechanistic-desk\n"
    "  trasmuon list rules trasmuon\n";

/// The command line as it could be typed again.
std::string typed(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_of(" \t\"'*?[]$&|;<>(){}\\") == std::string::npos;
    line += (i == 0 ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace trasmuon::lab;
  CLI::App app("The TrasMuon laboratory: runs experiments from recipes, keeps their records, reports on them.",
               "trasmuon");
  app.set_version_flag("--version", TRASMUON_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);

  RunCommand run{.program = argv[0], .command = typed(argc, argv), .recipe = {}, .out = {}, .overrides = {}};
  CLI::App* run_app = app.add_subcommand("run", "Make the runs of a recipe that are not there yet");
  run_app->add_option("RECIPE", run.recipe, "A file, or a name from `trasmuon list recipes`")->required();
  run_app->add_option("--out", run.out, "Folder for the runs; default: out/ and the recipe's name");
  run_app->add_option("--jobs", run.jobs, "Runs at once, each on one core; default: the cores")
      ->check(CLI::Range(1, 1024));
  run_app->add_option("--set", run.overrides, "key=value: a setting of the study, or seeds, for all runs")
      ->allow_extra_args(false);
  run_app->footer(kRunExamples);

  std::string runs, report_out;
  CLI::App* report_app =
      app.add_subcommand("report", "Write report.html, report.md and figures about a folder of runs");
  report_app->add_option("RUNS", runs, "The --out of `trasmuon run`")->required();
  report_app->add_option("--out", report_out, "Folder for the report; default: RUNS");
  report_app->footer("Example:\n  trasmuon report out/mechanistic-desk\n");

  std::string what, name;
  CLI::App* list_app = app.add_subcommand("list", "Show studies, settings, recipes, methods, rules");
  list_app->add_option("WHAT", what,
                       "studies, settings STUDY, recipes, methods RECIPE or rules [RULE]; default: an overview");
  list_app->add_option("NAME", name, "Of the study, recipe or rule");
  list_app->footer(kListExamples);

  const CLI::App* bench_app = app.add_subcommand("bench", "Time a step of every rule on this machine, in seconds");
  const CLI::App* doctor_app = app.add_subcommand("doctor", "Show what this build and machine have and lack");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (run_app->parsed()) return run_command(run);
  if (report_app->parsed()) return report_command(runs, report_out);
  if (list_app->parsed()) return list_command(what, name);
  if (bench_app->parsed()) return bench_command();
  if (doctor_app->parsed()) return doctor_command();
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "trasmuon: %s\n", error.what());
  return 1;
}
