// SPDX-License-Identifier: Apache-2.0
//
// Whole steps on the GPU, without Python: the models and shapes of models.json, with the card's ceilings of the
// same run. The JSON has the fields of python/bench.py, which adds torch's optimizers.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "cuda/ceilings.h"
#include "cuda/entries.h"
#include "cuda/parameters.h"
#include "cuda/phases.h"
#include "cuda/report.h"
#include "cuda/timing.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::bench {
namespace {

constexpr int kRanks = 2;
constexpr const char* kMain = "ours, trasmuon";  // also sustained, and the first step
constexpr const char* kUsage =
    "usage: bench_step_cuda [--only NAME]... [--repeats N] [--json FILE]\n"
    "\n"
    "Times a step on cuda:0: every rule on the models, TrasMuon on the other shapes of benchmarks/models.json;\n"
    "and the phases of a step over two ranks that share this GPU.\n"
    "Prints milliseconds, median and minimum; \"sustained\" after most of a second of steps without a pause.\n"
    "\n"
    "  --only NAME    TrasMuon alone, on this model or shape; may be repeated\n"
    "  --repeats N    timed steps of each row (default 30)\n"
    "  --json FILE    write the numbers to FILE (format: benchmarks/results/README.md)\n"
    "  --help         show this text\n";

struct Settings {
  std::vector<std::string> only;
  int repeats = 30;
  std::string json;
  std::string command;
  bool help = false;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  settings.command = argv[0];
  for (int i = 1; i < argc; ++i) settings.command += std::string(" ") + argv[i];
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help") {
      settings.help = true;
      return settings;
    }
    const bool known = option == "--only" || option == "--repeats" || option == "--json";
    if (!known) throw Error("option must be --only, --repeats, --json or --help, got '" + option + "'");
    if (i + 1 == argc) throw Error(option + " must have a value");
    const std::string value = argv[++i];
    if (option == "--only") settings.only.push_back(value);
    else if (option == "--json") settings.json = value;
    else settings.repeats = std::atoi(value.c_str());
    if (settings.repeats < 1) throw Error("--repeats must be >= 1, got " + value);
  }
  return settings;
}

void time_step(CudaReport& report, const std::string& name, const CudaParameters& parameters, const Options& options,
               int repeats) {
  Optimizer optimizer = parameters.optimizer(options);
  const auto step = [&] { optimizer.step(parameters.gradients()); };
  const double first = seconds([&] {
    step();
    check_cuda(cudaDeviceSynchronize());
  });
  report.add(name, milliseconds(step, repeats),
             "state " + std::to_string(optimizer.state_bytes() >> 20) + " MiB, workspace " +
                 std::to_string(optimizer.workspace_bytes() >> 20) + " MiB");
  if (name != kMain) return;
  report.add(name + ", sustained", sustained_milliseconds(step), "");
  report.add(name + ", first step, by the clock", Samples{{1e3 * first}}, "planning, tables and graph");
}

void measure(const Settings& settings) {
  const std::vector<Entry> entries = read_entries(settings.only);
  if (const std::string reason = why_unusable(Device::cuda(0)); !reason.empty()) throw Error(reason);
  const CudaCeilings ceilings = measure_ceilings();
  CudaReport report(settings.json, settings.command, ceilings);
  const auto time_ours = [&](const std::string& name, const CudaParameters& parameters, const Options& options) {
    time_step(report, "ours, " + name, parameters, options, settings.repeats);
  };
  for (const Entry& entry : entries) {
    report.begin(entry.name, floor_milliseconds(entry.matrices, ceilings));
    {
      const CudaParameters parameters(entry.matrices, DType::f32);
      time_step(report, kMain, parameters, TrasMuonOptions{}, settings.repeats);
      if (!entry.is_model || !settings.only.empty()) continue;
      for (const char* rule : {"normuon", "muon", "adamw"}) time_ours(rule, parameters, options_for(rule));
      for (const auto& [name, precision] : {std::pair{"bf16", NewtonSchulzPrecision::bf16},
                                            {"tf32", NewtonSchulzPrecision::tf32},
                                            {"f32", NewtonSchulzPrecision::f32}}) {
        time_ours(std::string("trasmuon, ") + name + " iteration", parameters,
                  TrasMuonOptions{.ns_precision = precision});
      }
      time_ours("trasmuon, 4 steps of minimax4", parameters,
                TrasMuonOptions{.ns_steps = 4, .coefficients = "minimax4"});
      for (const PhaseTime& time : time_phases(entry.matrices, parameters, kRanks, DType::f16, settings.repeats))
        report.add("ours, trasmuon, over 2 ranks on this GPU: " + time.name, time.milliseconds, "");
    }
    time_ours("trasmuon, bf16 weights and gradients", CudaParameters(entry.matrices, DType::bf16), TrasMuonOptions{});
  }
}

}  // namespace
}  // namespace trasmuon::bench

int main(int argc, char** argv) try {
  const trasmuon::bench::Settings settings = trasmuon::bench::parse(argc, argv);
  if (settings.help) std::fputs(trasmuon::bench::kUsage, stdout);
  else trasmuon::bench::measure(settings);
} catch (const std::exception& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "bench_step_cuda: %s\n", error.what());
  return 1;
}
