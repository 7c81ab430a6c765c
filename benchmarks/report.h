// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "samples.h"

namespace trasmuon::bench {

/// The machine and the versions that were measured.
struct Machine {
  std::string cpu;  ///< from /proc/cpuinfo
  int cores = 0;    ///< that this process may use
  int threads = 0;  ///< that both sides use
  std::string isa;  ///< instruction set of our kernels
  std::string compiler;
  std::string version;  ///< of this library
  std::string peer;     ///< versions of LibTorch and its BLAS; empty without a peer
  std::string date;     ///< UTC, ISO 8601
};

Machine describe_machine(int threads, std::string peer);

/// The results of bench_step. Times are seconds of one step over all matrices.
struct StepReport {
  Machine machine;
  std::string model;
  int layers = 0;
  std::size_t matrices = 0;
  std::int64_t parameters = 0;

  int validation_steps = 0;
  double worst_deviation = 0;  ///< max |W - W_peer| / max |W_peer - W_start|, of the worst matrix
  std::string worst_matrix;

  Samples trasmuon, libtorch, muon, adamw;
  Samples speedup;  ///< per round; empty without a peer

  std::size_t trasmuon_state = 0, muon_state = 0, adamw_state = 0, workspace = 0;  ///< bytes
  double standard_operations = 0, our_operations = 0;                              ///< of one step
  double matmul_rate = 0;  ///< best product of the peer, operations per second

  /// Ratio of the medians.
  double overall_speedup() const { return libtorch.median() / trasmuon.median(); }
};

void print(const StepReport& report);
/// Writes the format of results/README.md; throws Error if the file cannot be written.
void write_json(const StepReport& report, const std::string& path);

}  // namespace trasmuon::bench
