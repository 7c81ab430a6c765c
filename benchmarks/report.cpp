// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "trasmuon/error.h"

namespace trasmuon::bench {
namespace {

void print_row(const char* what, const Samples& samples) {
  if (samples.empty()) return;
  std::printf("%-22s %9.3f %9.3f %9.3f   %zu\n", what, samples.median(), samples.min(), samples.max(),
              samples.values.size());
}

nlohmann::ordered_json to_json(const Samples& samples) {
  if (samples.empty()) return nullptr;
  return {{"median", samples.median()}, {"min", samples.min()}, {"max", samples.max()}, {"samples", samples.values}};
}

nlohmann::ordered_json to_json(const Machine& machine) {
  nlohmann::ordered_json peer = nullptr;
  if (!machine.peer.empty()) peer = machine.peer;
  return {{"cpu", machine.cpu}, {"cores", machine.cores},       {"threads", machine.threads},
          {"isa", machine.isa}, {"compiler", machine.compiler}, {"trasmuon", machine.version},
          {"peer", peer}};
}

}  // namespace

void print(const StepReport& r) {
  const double parameters = static_cast<double>(r.parameters);
  std::printf("\nseconds per step          median       min       max   rounds\n");
  print_row("TrasMuon, ours", r.trasmuon);
  print_row("TrasMuon, LibTorch", r.libtorch);
  print_row("Muon, ours", r.muon);
  print_row("AdamW, ours", r.adamw);
  if (!r.speedup.empty()) std::printf("speedup of each round  %.2f to %.2f\n", r.speedup.min(), r.speedup.max());
  std::printf("\nstate, bytes per parameter: TrasMuon %.3f, Muon %.3f, AdamW %.3f; workspace %.1f MiB\n",
              static_cast<double>(r.trasmuon_state) / parameters, static_cast<double>(r.muon_state) / parameters,
              static_cast<double>(r.adamw_state) / parameters, static_cast<double>(r.workspace) / (1 << 20));
  const double step = r.trasmuon.median();
  std::printf(
      "GFLOP/s of our step: %.0f in operations of the standard algorithm (%.3f T), %.0f in those done (%.3f T)\n",
      r.standard_operations / step / 1e9, r.standard_operations / 1e12, r.our_operations / step / 1e9,
      r.our_operations / 1e12);
  if (!r.libtorch.empty()) {
    std::printf("GFLOP/s of LibTorch: %.0f in its step, %.0f in its best single product\n",
                r.standard_operations / r.libtorch.median() / 1e9, r.matmul_rate / 1e9);
  }
}

void write_json(const StepReport& r, const std::string& path) {
  const bool peer = !r.libtorch.empty();
  nlohmann::ordered_json validation = nullptr, speedup = nullptr, peer_rate = nullptr, matmul_rate = nullptr;
  if (peer) {
    validation = {{"steps", r.validation_steps}, {"worst_deviation", r.worst_deviation}, {"matrix", r.worst_matrix}};
    speedup = {{"of_medians", r.overall_speedup()}, {"per_round", to_json(r.speedup)}};
    peer_rate = r.standard_operations / r.libtorch.median() / 1e9;
    matmul_rate = r.matmul_rate / 1e9;
  }
  const double step = r.trasmuon.median();
  const nlohmann::ordered_json json = {
      {"benchmark", "bench_step"},
      {"date", r.machine.date},
      {"machine", to_json(r.machine)},
      {"workload",
       {{"model", r.model},
        {"layers", r.layers},
        {"matrices", r.matrices},
        {"parameters", r.parameters},
        {"dtype", "f32"}}},
      {"validation", validation},
      {"seconds",
       {{"trasmuon", to_json(r.trasmuon)},
        {"libtorch", to_json(r.libtorch)},
        {"muon", to_json(r.muon)},
        {"adamw", to_json(r.adamw)}}},
      {"speedup", speedup},
      {"memory_bytes",
       {{"trasmuon_state", r.trasmuon_state},
        {"muon_state", r.muon_state},
        {"adamw_state", r.adamw_state},
        {"workspace", r.workspace}}},
      {"operations", {{"standard", r.standard_operations}, {"done", r.our_operations}}},
      {"gflops",
       {{"trasmuon_standard", r.standard_operations / step / 1e9},
        {"trasmuon_done", r.our_operations / step / 1e9},
        {"libtorch", peer_rate},
        {"libtorch_best_product", matmul_rate}}}};
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw Error("bench_step: cannot write '" + path + "'");
}

}  // namespace trasmuon::bench
