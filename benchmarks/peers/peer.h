// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trasmuon/options.h"
#include "trasmuon/tensor.h"

namespace trasmuon::bench {

/// The implementation that our step is compared with: libtorch_peer.cpp, or
/// missing_peer.cpp in a build without LibTorch.
class Peer {
 public:
  virtual ~Peer() = default;
  /// One TrasMuon step on the weights handed to make_peer.
  virtual void step(std::span<const TensorView> gradients) = 0;
  /// C <- A B, all size x size; the best rate of `repeats` in operations per second.
  virtual double matmul_rate(std::int64_t size, int repeats) = 0;
  /// The peer's BLAS if it is known to be a slow one, else empty.
  virtual std::string slow_blas() const = 0;
  /// Versions of the library and of its BLAS.
  virtual std::string description() const = 0;
};

/// Call first in main: may restart the program with the environment in which the peer is
/// fastest.
void prepare_process(char** argv);

/// The weights remain the caller's. Returns null in a build without a peer.
std::unique_ptr<Peer> make_peer(std::span<const TensorView> weights, const TrasMuonOptions& options, int threads);

}  // namespace trasmuon::bench
