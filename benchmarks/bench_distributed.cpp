// SPDX-License-Identifier: Apache-2.0
// Steps over 1 to 4 processes of this machine, with Gloo on loopback: time, bytes on the wire, state of a rank.
//
//   bench_distributed [--layers 2] [--steps 5] [--rounds 3] [--json FILE]
//
// All processes share the machine's cores, so this shows what the exchanges cost and not what more machines gain. CPU
// seconds are those of all processes together, which other programs disturb less. Each
// round runs all numbers of processes in turn; ratios are taken within a round, because other programs disturb all of
// its runs alike.
#include <sys/mman.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <trasmuon/libtorch/distributed.h>
#include <trasmuon/threads.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "report.h"
#include "samples.h"
#include "tcp_traffic.h"
#include "workload.h"

namespace trasmuon::bench {
namespace {

constexpr int kMostRanks = 4, kMostSteps = 64;

struct Setup {
  int layers = 2, steps = 5, rounds = 3;
};

/// What one rank reports, in memory that all processes share.
struct RankReport {
  double seconds[kMostSteps];
  double cpu_seconds;  // of one step
  std::int64_t bytes_sent, state_bytes;
  bool done;
};

/// A run of some processes: what all of them report.
struct Run {
  Samples seconds;         ///< of each step, until the last rank has ended it
  double cpu_seconds = 0;  ///< of one step, all ranks together
  double bytes_per_parameter = 0, state_per_parameter = 0;
};

std::vector<torch::Tensor> weights(const Setup& setup) {
  torch::manual_seed(1);
  std::vector<torch::Tensor> list;
  for (const NamedMatrix& matrix : gpt2_small(setup.layers)) {
    list.push_back(0.02 * torch::randn({matrix.rows, matrix.cols}));
    list.back().mutable_grad() = torch::randn({matrix.rows, matrix.cols});
  }
  return list;
}

/// The rows of all tensors and gradients that a rank holds, cut as FSDP2 does.
libtorch::OptimizerParamGroup cut(const std::vector<torch::Tensor>& whole, int rank, int ranks) {
  std::vector<torch::Tensor> here;
  std::vector<Parameter> parameters;
  for (const torch::Tensor& tensor : whole) {
    const std::int64_t rows = tensor.size(0), each = (rows + ranks - 1) / ranks;
    const std::int64_t first = std::min(rows, rank * each), count = std::min(rows - first, each);
    here.push_back(tensor.narrow(0, first, count).clone());
    here.back().mutable_grad() = tensor.grad().narrow(0, first, count).clone();
    parameters.push_back({.weight = {}, .shard = RowShard{first, rows}});
  }
  libtorch::OptimizerParamGroup group = libtorch::group(here, TrasMuonOptions{});
  libtorch::options_of(group).parameters = parameters;
  return group;
}

void run_rank(const Setup& setup, bool sharded, int rank, int ranks, const std::string& file, RankReport& report) {
  const int cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  set_num_threads(std::max(1, cores / ranks));
  at::set_num_threads(1);
  auto store = c10::make_intrusive<c10d::FileStore>(file, ranks);
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(5));
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, ranks, options);
  const auto meet = [&] { group->barrier()->wait(); };

  std::vector<torch::Tensor> whole = weights(setup);
  std::vector<libtorch::OptimizerParamGroup> groups;
  if (sharded) {
    groups.push_back(cut(whole, rank, ranks));
    whole.clear();
  } else {
    groups.push_back(libtorch::group(whole, TrasMuonOptions{}));
  }
  libtorch::DistributedOptimizer optimizer(group, groups);
  for (const auto& [key, item] : optimizer.state()) {
    for (const auto& [name, tensor] : static_cast<const libtorch::ParamState&>(*item).tensors)
      report.state_bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  optimizer.step();  // takes memory
  std::int64_t sent = 0;
  const std::clock_t start = std::clock();
  for (int step = 0; step < setup.steps; ++step) {
    meet();
    const std::int64_t before = tcp_bytes_sent();
    report.seconds[step] = seconds([&] { optimizer.step(); });
    sent += tcp_bytes_sent() - before;
  }
  report.cpu_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / setup.steps;
  meet();
  report.bytes_sent = sent / setup.steps;
  report.done = true;
}

Run run_ranks(const Setup& setup, bool sharded, int ranks, std::int64_t parameters) {
  char folder[] = "/tmp/trasmuon_bench_XXXXXX";
  if (mkdtemp(folder) == nullptr) throw Error("bench_distributed: mkdtemp failed");
  const std::string file = std::string(folder) + "/store";
  const std::size_t bytes = sizeof(RankReport) * kMostRanks;
  auto* reports =
      static_cast<RankReport*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int r = 0; r < ranks; ++r) {
    if (fork() != 0) continue;
    try {
      run_rank(setup, sharded, r, ranks, file, reports[r]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", r, error.what());
    }
    _exit(0);
  }
  while (wait(nullptr) > 0) continue;
  std::filesystem::remove_all(folder);
  Run run;
  for (int step = 0; step < setup.steps; ++step) {
    double last = 0;
    for (int r = 0; r < ranks; ++r) last = std::max(last, reports[r].seconds[step]);
    run.seconds.values.push_back(last);
  }
  for (int r = 0; r < ranks; ++r) {
    if (!reports[r].done) throw Error("bench_distributed: rank " + std::to_string(r) + " has not ended its steps");
    run.cpu_seconds += reports[r].cpu_seconds;
    run.bytes_per_parameter += static_cast<double>(reports[r].bytes_sent) / static_cast<double>(parameters);
    run.state_per_parameter = std::max(run.state_per_parameter,
                                       static_cast<double>(reports[r].state_bytes) / static_cast<double>(parameters));
  }
  munmap(reports, bytes);
  return run;
}

/// Bytes per parameter, summed over the ranks that send them: weights in f32 to all others; rows of M and O in 16 bits
/// to the owner and back, but for those that the owner holds itself.
double bound(bool sharded, int ranks) { return sharded ? 4.0 * (ranks - 1) / ranks : 4.0 * (ranks - 1); }

nlohmann::json measure(const Setup& setup, bool sharded, std::int64_t parameters) {
  std::vector<std::vector<Run>> rounds(static_cast<std::size_t>(setup.rounds));
  for (auto& round : rounds) {
    for (int ranks = 1; ranks <= kMostRanks; ++ranks) round.push_back(run_ranks(setup, sharded, ranks, parameters));
  }
  nlohmann::json rows = nlohmann::json::array();
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const auto at = static_cast<std::size_t>(ranks - 1);
    Samples time, ratio, cpu, cpu_ratio;
    for (const auto& round : rounds) {
      time.values.push_back(round[at].seconds.median());
      ratio.values.push_back(round[at].seconds.median() / round[0].seconds.median());
      cpu.values.push_back(round[at].cpu_seconds);
      cpu_ratio.values.push_back(round[at].cpu_seconds / round[0].cpu_seconds);
    }
    const Run& run = rounds[0][at];
    rows.push_back({{"processes", ranks},
                    {"seconds", time.values},
                    {"ratio_to_one_process", ratio.values},
                    {"cpu_seconds_of_all", cpu.values},
                    {"cpu_ratio_to_one_process", cpu_ratio.values},
                    {"wire_bytes_per_parameter", run.bytes_per_parameter},
                    {"bound_bytes_per_parameter", bound(sharded, ranks)},
                    {"largest_state_bytes_per_parameter", run.state_per_parameter}});
    std::printf("%-10s  %d  %7.3f s, %5.2f of one  %7.3f CPU s, %5.2f of one  ", sharded ? "sharded" : "replicated",
                ranks, time.median(), ratio.median(), cpu.median(), cpu_ratio.median());
    std::printf("%6.3f bytes per parameter, bound %6.3f  %5.2f bytes of state\n", run.bytes_per_parameter,
                bound(sharded, ranks), run.state_per_parameter);
    std::fflush(stdout);
  }
  return rows;
}

int main_of(int argc, char** argv) {
  Setup setup;
  std::string path;
  CLI::App app("Times steps over processes of this machine, and counts what they send.");
  app.add_option("--layers", setup.layers, "layers of GPT-2 small, four matrices each")->check(CLI::Range(1, 12));
  app.add_option("--steps", setup.steps, "timed steps of a run")->check(CLI::Range(1, kMostSteps));
  app.add_option("--rounds", setup.rounds, "runs of each number of processes")->check(CLI::Range(1, 100));
  app.add_option("--json", path, "file to write");
  CLI11_PARSE(app, argc, argv);
  std::int64_t parameters = 0;
  for (const NamedMatrix& matrix : gpt2_small(setup.layers)) parameters += matrix.rows * matrix.cols;
  const nlohmann::json copies = measure(setup, false, parameters), rows = measure(setup, true, parameters);
  if (path.empty()) return 0;
  std::string command = "bench_distributed";
  for (int i = 1; i < argc; ++i) command += " " + std::filesystem::path(argv[i]).filename().string();
  const Machine machine = describe_machine(0, "LibTorch " TORCH_VERSION ", Gloo over TCP on loopback");
  std::ofstream(path) << nlohmann::json{{"benchmark", "bench_distributed"},
                                        {"command", command},
                                        {"date", machine.date},
                                        {"machine",
                                         {{"cpu", machine.cpu},
                                          {"cores", machine.cores},
                                          {"isa", machine.isa},
                                          {"compiler", machine.compiler},
                                          {"trasmuon", machine.version},
                                          {"peer", machine.peer}}},
                                        {"threads_per_process", "cores / processes, at least one"},
                                        {"layers", setup.layers},
                                        {"parameters", parameters},
                                        {"replicated, f32 weights", copies},
                                        {"sharded, 16-bit wire", rows}}
                             .dump(1)
                      << "\n";
  return 0;
}

}  // namespace
}  // namespace trasmuon::bench

int main(int argc, char** argv) {
  try {
    return trasmuon::bench::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
