// SPDX-License-Identifier: Apache-2.0
// Column bursts on a stiff quadratic: the paper's mechanistic study with two controls.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "burst/report.h"

namespace {

constexpr const char* kHelp =
    "burst_demo: seven optimizers on a stiff quadratic, with and without column bursts,\n"
    "about a minute on two cores\n"
    "  --seeds N   problems to average over, 1 to 1000 (24)\n"
    "  --steps N   steps of each run, 100 to 100000 (1005)\n"
    "  --out DIR   folder for the CSV files and the plot (out)\n"
    "  --help      this text\n";

struct Arguments {
  int seeds = 24, steps = 1005;
  std::string out = "out";
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int parse_number(const std::string& flag, const char* text, int low, int high) {
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || value < low || value > high) {
    throw UsageError(flag + " must be in [" + std::to_string(low) + ", " + std::to_string(high) + "], got '" + text +
                     "'");
  }
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag != "--seeds" && flag != "--steps" && flag != "--out") throw UsageError("unknown argument '" + flag + "'");
    if (++i == argc) throw UsageError(flag + " needs a value");
    if (flag == "--seeds") arguments.seeds = parse_number(flag, argv[i], 1, 1000);
    if (flag == "--steps") arguments.steps = parse_number(flag, argv[i], 100, 100000);
    if (flag == "--out") arguments.out = argv[i];
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) return std::fputs(kHelp, stdout) < 0;
  const Arguments arguments = parse(argc, argv);
  std::filesystem::create_directories(arguments.out);  // now, so that a bad name costs no waiting
  const burst::Study study = burst::run_study(arguments.seeds, arguments.steps);
  burst::print_report(study);
  burst::write_csv(study, arguments.out);
  const bool drawn = burst::write_plot(study, arguments.out);
  std::printf("\nwritten: %s/{curves,events,runs}.csv%s\n", arguments.out.c_str(), drawn ? ", burst_demo.png" : "");
  if (!drawn) std::printf("gnuplot is not installed: no plot. With it, run `gnuplot plot.gp` in that folder.\n");
  return 0;
} catch (const UsageError& error) {
  std::fprintf(stderr, "burst_demo: %s\n%s", error.what(), kHelp);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "burst_demo: %s\n", error.what());
  return 1;
}
