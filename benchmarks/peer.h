// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trasmuon/options.h"
#include "trasmuon/tensor.h"

namespace trasmuon::bench {

/// What our step is measured against. libtorch_peer.cpp or, where LibTorch was not
/// found, missing_peer.cpp implements it.
class Peer {
 public:
  virtual ~Peer() = default;
  /// One TrasMuon step on the weights handed to make_peer.
  virtual void step(std::span<const TensorView> gradients) = 0;
  /// C <- A B, all size x size; the best rate of `repeats` in operations per second.
  virtual double matmul_rate(std::int64_t size, int repeats) = 0;
  /// Versions of the library and of its BLAS.
  virtual std::string description() const = 0;
};

/// To be called first in main: may start the program again with an environment in which
/// the peer is at its best.
void prepare_process(char** argv);

/// The weights stay the caller's. Null when there is no peer in this build.
std::unique_ptr<Peer> make_peer(std::span<const TensorView> weights, const TrasMuonOptions& options, int threads);

}  // namespace trasmuon::bench
