// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <trasmuon/error.h>
#include <trasmuon/version.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "lab/cli/commands.h"
#include "lab/cli/shell.h"
#include "lab/runner/console.h"
#include "lab/study/names.h"

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  trasmuon list                              studies, recipes, rules\n"
    "  trasmuon run mechanistic-desk              writes to out/mechanistic-desk; run again to continue\n"
    "  trasmuon report out/mechanistic-desk       tables and figures from these runs\n";

constexpr const char* kRunExamples =
    "Examples:\n"
    "  trasmuon run mechanistic-desk\n"
    "  trasmuon run my.toml --out out/try --jobs 4 --set steps=200 --set seeds=2\n"
    "  trasmuon run gpt2-h200 --part shared --part nesterov --method muon --method trasmuon\n"
    "Ctrl-C stops it; the same command continues. Finished runs are not repeated.\n";

constexpr const char* kPrepareExamples =
    "Examples:\n"
    "  trasmuon prepare book.txt --out tokens\n"
    "  trasmuon prepare wiki/*.txt --out tokens-gpt2 --tokenizer gpt2 --tokenizer-files gpt2/\n"
    "The folder appears when all is written; Ctrl-C leaves nothing behind.\n";

constexpr const char* kListExamples =
    "Examples:\n"
    "  trasmuon list\n"
    "  trasmuon list settings mechanistic\n"
    "  trasmuon list methods mechanistic-desk\n"
    "  trasmuon list rules trasmuon\n";

/// The command line as it could be typed again.
std::string typed(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i == 0 ? "" : " ") + trasmuon::lab::shell_word(argv[i]);
  return line;
}

/// Opens the standard streams that are closed, or the first files we open would take their place and get our output.
void occupy_standard_streams() {
  int descriptor = 0;
  do descriptor = ::open("/dev/null", O_RDONLY);  // writing to it fails, as to a closed one
  while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

/// Turns two signals into errors of write(): a reader that is gone must not stop a run, and a file that reaches the
/// limit of its size is to be named.
void ignore_write_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

/// Names the nearest command or option for the first word that is none; empty if that was not the mistake.
std::string misspelt(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> commands;
  const CLI::App* chosen = nullptr;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
    if (argc > 1 && command->get_name() == argv[1]) chosen = command;
  }
  if (argc > 1 && argv[1][0] != '-' && chosen == nullptr) {
    return fmt::format("there is no command '{}'{}", argv[1], trasmuon::lab::suggestion(argv[1], commands));
  }
  if (chosen == nullptr) return {};
  std::vector<std::string> options;
  for (const CLI::Option* option : chosen->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (int i = 2; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word(argv[i], std::strcspn(argv[i], "="));
    if (!word.starts_with("--") || std::find(options.begin(), options.end(), word) != options.end()) continue;
    return fmt::format("{} has no option '{}'{}", argv[1], word, trasmuon::lab::suggestion(word, options));
  }
  return {};
}

/// The exit code of a command whose output is its result.
int output_or_failure(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  trasmuon::lab::print(stderr, "trasmuon: cannot write to standard output: it is closed or full\n");
  return code == 0 ? 1 : code;
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace trasmuon::lab;
  occupy_standard_streams();
  CLI::App app("The TrasMuon laboratory: runs experiments from recipes, records every run and writes reports.",
               "trasmuon");
  app.set_version_flag("--version", TRASMUON_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);

  RunCommand run{
      .program = argv[0], .command = typed(argc, argv), .recipe = {}, .out = {}, .overrides = {}, .selection = {}};
  CLI::App* run_app = app.add_subcommand("run", "Run a recipe; skip runs that are already finished");
  run_app->add_option("RECIPE", run.recipe, "Recipe file, or a name from `trasmuon list recipes`")->required();
  run_app->add_option("--out", run.out, "Folder for the runs (default: out/RECIPE)");
  run_app->add_option("--jobs", run.jobs, "Runs at the same time (default: as many as cores and memory hold)")
      ->check(CLI::Range(1, 1024));
  run_app->add_option("--set", run.overrides, "key=value: override a setting of the study, or seeds, in all runs")
      ->allow_extra_args(false);
  run_app->add_option("--part", run.selection.parts, "Part of the recipe, instead of all; may be repeated")
      ->allow_extra_args(false);
  run_app->add_option("--method", run.selection.methods, "Method of the recipe, instead of all; may be repeated")
      ->allow_extra_args(false);
  run_app->footer(kRunExamples);

  std::string runs, report_out;
  CLI::App* report_app = app.add_subcommand("report", "Write report.html, report.md and figures from a folder of runs");
  report_app->add_option("RUNS", runs, "Folder that `trasmuon run` wrote")->required();
  report_app->add_option("--out", report_out, "Folder for the report (default: RUNS)");
  report_app->footer("Example:\n  trasmuon report out/mechanistic-desk\n");

  std::string what, name;
  CLI::App* list_app = app.add_subcommand("list", "Show studies, settings, recipes, methods, rules");
  list_app->add_option("WHAT", what,
                       "studies, settings STUDY, recipes, methods RECIPE or rules [RULE] (default: an overview)");
  list_app->add_option("NAME", name, "Name of the study, recipe or rule");
  list_app->footer(kListExamples);

  PrepareOptions prepare;
  CLI::App* prepare_app = app.add_subcommand("prepare", "Turn text files into token files for training");
  prepare_app->add_option("INPUT", prepare.inputs, "Text files; lines <|endoftext|> separate documents")->required();
  prepare_app->add_option("--out", prepare.out, "New folder for train_*.bin and val_*.bin")->required();
  prepare_app->add_option("--tokenizer", prepare.tokenizer, "bytes, gpt2 or qwen (default: bytes)");
  prepare_app->add_option("--tokenizer-files", prepare.tokenizer_files,
                          "Folder with vocabulary and merges of the tokenizer");
  prepare_app->add_option("--shard-tokens", prepare.shard_tokens,
                          "Largest number of tokens in one file (default: 100000000)");
  auto* val_option =
      prepare_app->add_option("--val", prepare.val, "Text file for validation, instead of a share of INPUT");
  prepare_app->add_option("--val-share", prepare.val_share, "Share of INPUT for validation (default: 0.01)")
      ->excludes(val_option);
  prepare_app->footer(kPrepareExamples);

  const CLI::App* bench_app = app.add_subcommand("bench", "Measure the step time of every rule; takes a few seconds");
  const CLI::App* doctor_app = app.add_subcommand("doctor", "Show what this build and machine have and lack");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return output_or_failure(app.exit(error));  // --help, --version
    const std::string mistake = misspelt(app, argc, argv);
    if (mistake.empty()) app.exit(error);
    else print(stderr, "trasmuon: {}\nRun with --help for more information.\n", mistake);
    return 2;
  }
  if (list_app->parsed()) return output_or_failure(list_command(what, name));
  if (bench_app->parsed()) return output_or_failure(bench_command());
  if (doctor_app->parsed()) return output_or_failure(doctor_command());
  ignore_write_signals();  // the results of these are files
  if (prepare_app->parsed()) return prepare_command(prepare);
  return run_app->parsed() ? run_command(run) : report_command(runs, report_out);
} catch (const std::exception& error) {
  trasmuon::lab::print(stderr, "trasmuon: {}\n", error.what());
  return 1;
}
