// SPDX-License-Identifier: Apache-2.0
//
// A whole TrasMuon step over the matrices of GPT-2 small: ours against the same algorithm
// in LibTorch operations. Checks first that both compute the same, then times them in turns.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <thread>

#include "lab/records/blas.h"
#include "operations.h"
#include "peers/peer.h"
#include "report.h"
#include "samples.h"
#include "trasmuon/trasmuon.h"
#include "workload.h"

namespace trasmuon::bench {
namespace {

constexpr double kLargestDeviation = 1e-3;
constexpr int kValidationSteps = 3;
constexpr double kSlowestBlas = 8;  // times slower than our products: a reference BLAS is 20 to 100
constexpr int kRoundsOfOthers = 2;  // Muon and AdamW are there for scale only

struct Settings {
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int rounds = 3;
  bool quick = false;
  bool no_peer = false;
  std::string json;
};

Optimizer make_optimizer(const Options& options, std::span<const NamedMatrix> matrices, MatrixSet& weights) {
  Group group{options, {}};
  const std::vector<TensorView> views = weights.views();
  for (std::size_t i = 0; i < matrices.size(); ++i) group.parameters.push_back({matrices[i].name, views[i]});
  return Optimizer({std::move(group)});
}

/// Both sides' weights after the same steps from the same start.
void compare(std::span<const NamedMatrix> matrices, const MatrixSet& start, const MatrixSet& ours,
             const MatrixSet& theirs, StepReport& report) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const auto before = start.values(i), a = ours.values(i), b = theirs.values(i);
    double difference = 0, update = 0;
    for (std::size_t j = 0; j < before.size(); ++j) {
      const double deviation = std::abs(static_cast<double>(a[j]) - static_cast<double>(b[j]));
      difference = std::max(difference, std::isfinite(deviation) ? deviation : kInfinity);
      update = std::max(update, std::abs(static_cast<double>(b[j]) - static_cast<double>(before[j])));
    }
    const double relative = update > 0 ? difference / update : kInfinity;
    if (relative <= report.worst_deviation) continue;
    report.worst_deviation = relative;
    report.worst_matrix = matrices[i].name;
  }
}

/// Operations per second of our Muon step on one square matrix, counted as dense products; the best of three.
double our_rate(std::int64_t size) {
  const std::vector<NamedMatrix> matrix = {{"w", size, size}};
  MatrixSet weight(matrix), gradient(matrix);
  weight.fill(0.02, 1);
  gradient.fill(0.01, 2);
  const MuonOptions options;
  Optimizer optimizer = make_optimizer(options, matrix, weight);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) best = std::min(best, seconds([&] { optimizer.step(gradient.views()); }));
  return standard_operations(size, size, options.ns_steps) / best;
}

/// Throws if the peer runs on a slow BLAS, known by name or measured: times of such a peer mean nothing, and a
/// round of it takes many minutes.
void require_fast_blas(Peer& peer) {
  constexpr std::int64_t kSize = 768;
  const std::string advice =
      std::string("\n  to fix it: ") + lab::kFastBlasAdvice + "\n  without LibTorch: bench_step --no-peer";
  if (const std::string slow = peer.slow_blas(); !slow.empty()) {
    throw Error("bench_step: the BLAS of LibTorch must be an optimized one, got " + slow + advice);
  }
  const double theirs = peer.matmul_rate(kSize, 3), ours = our_rate(kSize);
  if (theirs >= ours / kSlowestBlas) return;
  char rates[96];
  std::snprintf(rates, sizeof rates, "%.1f GFLOP/s, where our step does %.1f", theirs / 1e9, ours / 1e9);
  throw Error("bench_step: the BLAS of LibTorch must be an optimized one, got a product at " + std::string(rates) +
              advice);
}

/// Waits until the threads of the last step, which may spin for a while, are asleep.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

void validate(Optimizer& ours, Peer& peer, std::span<const NamedMatrix> matrices, MatrixSet& gradient,
              const MatrixSet& weights, const MatrixSet& peer_weights, StepReport& report) {
  const MatrixSet start = weights;
  for (int t = 1; t <= kValidationSteps; ++t) {
    fill_gradient(gradient, t);
    ours.step(gradient.views());
    peer.step(gradient.views());
  }
  report.validation_steps = kValidationSteps;
  compare(matrices, start, weights, peer_weights, report);
  std::printf("checked: after %d steps the updates deviate by at most %.1e of the largest (%s)\n", kValidationSteps,
              report.worst_deviation, report.worst_matrix.c_str());
  if (!(report.worst_deviation <= kLargestDeviation)) {
    throw Error("bench_step: deviation must be <= 1e-3: the two sides do not compute the same step");
  }
}

StepReport measure(const Settings& settings) {
  StepReport report;
  report.model = "GPT-2 small";
  report.layers = settings.quick ? 1 : 12;
  const std::vector<NamedMatrix> matrices = gpt2_small(report.layers);
  report.matrices = matrices.size();

  MatrixSet weights(matrices), peer_weights(matrices), gradient(matrices);
  weights.fill(0.02, 1);
  peer_weights.copy_from(weights);
  report.parameters = weights.elements();

  const TrasMuonOptions options;
  set_num_threads(settings.threads);
  Optimizer trasmuon = make_optimizer(options, matrices, weights);
  std::unique_ptr<Peer> peer;
  if (!settings.no_peer) peer = make_peer(peer_weights.views(), options, settings.threads);
  report.machine = describe_machine(settings.threads, peer ? peer->description() : "");
  std::printf("%s, %d of 12 layers: %zu matrices, %.1f M parameters, f32\n", report.model.c_str(), report.layers,
              report.matrices, static_cast<double>(report.parameters) / 1e6);
  std::printf("%s, %d threads of %d cores\n", report.machine.cpu.c_str(), settings.threads, report.machine.cores);
  std::printf("ours: trasmuon %s, %s\npeer: %s\n", report.machine.version.c_str(), report.machine.isa.c_str(),
              peer               ? report.machine.peer.c_str()
              : settings.no_peer ? "none, as --no-peer asks"
                                 : "none, this build found no LibTorch");

  if (peer) {
    require_fast_blas(*peer);
    validate(trasmuon, *peer, matrices, gradient, weights, peer_weights, report);
    for (std::int64_t size : {768, 1536, 2304})
      report.matmul_rate = std::max(report.matmul_rate, peer->matmul_rate(size, 5));
  } else {
    fill_gradient(gradient, 1);
    trasmuon.step(gradient.views());
  }

  const std::vector<TensorView> gradients = gradient.views();
  for (int round = 0; round < settings.rounds; ++round) {
    settle();
    report.trasmuon.values.push_back(seconds([&] { trasmuon.step(gradients); }));
    if (!peer) continue;
    settle();
    report.libtorch.values.push_back(seconds([&] { peer->step(gradients); }));
    report.speedup.values.push_back(report.libtorch.values.back() / report.trasmuon.values.back());
  }
  report.trasmuon_state = trasmuon.state_bytes();
  report.workspace = trasmuon.workspace_bytes();

  const auto time_rule = [&](const Options& rule, Samples& samples, std::size_t& state) {
    Optimizer optimizer = make_optimizer(rule, matrices, weights);
    state = optimizer.state_bytes();
    settle();
    for (int round = 0; round < kRoundsOfOthers; ++round) {
      samples.values.push_back(seconds([&] { optimizer.step(gradients); }));
    }
  };
  time_rule(MuonOptions{}, report.muon, report.muon_state);
  time_rule(AdamWOptions{}, report.adamw, report.adamw_state);

  for (const NamedMatrix& matrix : matrices) {
    report.standard_operations += standard_operations(matrix.rows, matrix.cols, options.ns_steps);
    report.our_operations += our_operations(matrix.rows, matrix.cols, options.ns_steps, options.ns_form);
  }
  return report;
}

}  // namespace
}  // namespace trasmuon::bench

int main(int argc, char** argv) {
  using namespace trasmuon::bench;
  prepare_process(argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a log shows progress, as a terminal does
  Settings settings;
  CLI::App app("Times a TrasMuon step over GPT-2 small's 48 matrices against the same step in LibTorch operations.");
  app.add_option("--threads", settings.threads, "Threads of both sides")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Timed steps of each side, in turns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--quick", settings.quick, "Time one layer instead of twelve");
  app.add_flag("--no-peer", settings.no_peer, "Time our step alone, without LibTorch");
  app.add_option("--json", settings.json, "File for the results (format: benchmarks/results/README.md)");
  CLI11_PARSE(app, argc, argv);
  try {
    const StepReport report = measure(settings);
    print(report);
    if (!settings.json.empty()) write_json(report, settings.json);
    if (report.libtorch.empty()) std::printf("speedup over LibTorch: not measured\n");
    else std::printf("speedup over LibTorch: %.2f\n", report.overall_speedup());
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
