// SPDX-License-Identifier: Apache-2.0
//
// Whole steps on the GPU, without Python: the models and shapes of models.json, with the card's ceilings of the
// same run. The JSON has the fields of python/bench.py, which adds torch's optimizers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cuda/ceilings.h"
#include "cuda/parameters.h"
#include "cuda/timing.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUsage =
    "usage: bench_step_cuda [--only NAME]... [--repeats N] [--json FILE]\n"
    "\n"
    "Times a step on cuda:0: every rule on the models, TrasMuon on the other shapes of benchmarks/models.json.\n"
    "Prints milliseconds, median and minimum.\n"
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

/// A model or a shape, as models.json lists it.
struct Entry {
  std::string name;
  bool all_rules = false;
  std::vector<NamedMatrix> matrices;
};

std::vector<Entry> read_entries(const std::vector<std::string>& only) {
  std::ifstream file(TRASMUON_BENCH_MODELS);
  if (!file) throw Error("cannot read " TRASMUON_BENCH_MODELS);
  const Json models = Json::parse(file);
  std::vector<Entry> entries;
  std::string names;
  for (const char* kind : {"models", "shapes"}) {
    for (const auto& [name, shapes] : models.at(kind).items()) {
      names += (names.empty() ? "'" : ", '") + name + "'";
      if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
      Entry entry{name, only.empty() && std::string(kind) == "models", {}};
      for (const Json& shape : shapes) {
        for (int i = 0; i < shape.at(2).get<int>(); ++i) {
          entry.matrices.push_back({"p" + std::to_string(entry.matrices.size()), shape.at(0), shape.at(1)});
        }
      }
      entries.push_back(std::move(entry));
    }
  }
  if (!only.empty() && entries.size() != only.size()) throw Error("--only must be one of " + names);
  return entries;
}

class Report {
 public:
  Report(const Settings& settings, const CudaCeilings& ceilings) : settings_(settings), ceilings_(ceilings) {
    cudaDeviceProp card{};
    int runtime = 0;
    check_cuda(cudaGetDeviceProperties(&card, 0));
    check_cuda(cudaRuntimeGetVersion(&runtime));
    const std::string cuda = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
    json_ = {{"card", card.name},
             {"torch", nullptr},
             {"cuda", cuda},
             {"command", settings.command},
             {"ceilings",
              {{"bf16 product, TFLOP/s", ceilings.bf16_product},
               {"f16 product, TFLOP/s", ceilings.f16_product},
               {"copy, TB/s", ceilings.copy}}}};
    std::printf("%s, CUDA %s, trasmuon %s\n", card.name, cuda.c_str(), TRASMUON_VERSION);
    std::printf("ceilings: bf16 product %.0f TFLOP/s, f16 product %.0f TFLOP/s, copy %.2f TB/s\n",
                ceilings.bf16_product, ceilings.f16_product, ceilings.copy);
  }

  void begin(const Entry& entry) {
    const double floor = floor_milliseconds(entry.matrices, ceilings_);
    times_ = &json_["milliseconds, median and minimum"][entry.name];
    *times_ = {{"floor", floor}};
    std::printf("%s, floor %.3f ms\n", entry.name.c_str(), floor);
  }

  void time(const std::string& name, const CudaParameters& parameters, const Options& options) {
    Optimizer optimizer = parameters.optimizer(options);
    const Samples samples = milliseconds([&] { optimizer.step(parameters.gradients()); }, settings_.repeats);
    (*times_)[name] = {samples.median(), samples.min()};
    std::printf("  %-48s %9.3f ms (%.3f)   state %zu MiB, workspace %zu MiB\n", name.c_str(), samples.median(),
                samples.min(), optimizer.state_bytes() >> 20, optimizer.workspace_bytes() >> 20);
    std::fflush(stdout);
  }

  void write() const {
    if (settings_.json.empty()) return;
    std::ofstream file(settings_.json);
    file << json_.dump(1) << '\n';
    file.close();
    if (!file) throw Error("cannot write '" + settings_.json + "'");
  }

 private:
  const Settings& settings_;
  CudaCeilings ceilings_;
  Json json_;
  Json* times_ = nullptr;
};

void measure(const Settings& settings) {
  const std::vector<Entry> entries = read_entries(settings.only);
  if (const std::string reason = why_unusable(Device::cuda(0)); !reason.empty()) throw Error(reason);
  Report report(settings, measure_ceilings());
  for (const Entry& entry : entries) {
    report.begin(entry);
    {
      const CudaParameters parameters(entry.matrices, DType::f32);
      report.time("ours, trasmuon", parameters, TrasMuonOptions{});
      if (!entry.all_rules) continue;
      for (const char* rule : {"normuon", "muon", "adamw"}) {
        report.time(std::string("ours, ") + rule, parameters, options_for(rule));
      }
      for (const auto& [name, precision] : {std::pair{"bf16", NewtonSchulzPrecision::bf16},
                                            {"tf32", NewtonSchulzPrecision::tf32},
                                            {"f32", NewtonSchulzPrecision::f32}}) {
        report.time(std::string("ours, trasmuon, ") + name + " iteration", parameters,
                    TrasMuonOptions{.ns_precision = precision});
      }
    }
    const CudaParameters parameters(entry.matrices, DType::bf16);
    report.time("ours, trasmuon, bf16 weights and gradients", parameters, TrasMuonOptions{});
  }
  report.write();
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
