// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trasmuon::lab {

struct BurstOptions {
  double factor = 1000;  ///< a
  int period = 10;       ///< K_out, steps from burst to burst
  int phase = 0;         ///< a burst falls on every step with step % period = phase
  int columns = 1;       ///< s, hit by one burst; drawn again for each burst
  bool mixed = false;    ///< bursts hit directions of a mixed column basis Q, Haar-distributed; else columns
};

/// The mechanistic study's outlier events: at every `period`-th step, M becomes (M Q) D Q^T, where D multiplies the
/// chosen columns by `factor`. Steps count from 1; a step belongs to the nearest burst. The n-th burst hits the same
/// columns whatever the phase.
class Bursts {
 public:
  Bursts(const BurstOptions& options, int dim, int steps, std::uint64_t seed);

  bool at(int step) const { return step > 0 && step % options_.period == options_.phase; }
  void amplify(int step, std::span<double> matrix) const { scale(step, matrix, options_.factor); }
  void restore(int step, std::span<double> matrix) const { scale(step, matrix, 1 / options_.factor); }

  /// Mean damping of the directions q that the nearest burst hits: sum_j q_j^2 c_j, which is c_j for a single column.
  double damping(int step, std::span<const double> c) const;

 private:
  std::span<const int> hit(int step) const;  // rows of basis_
  void scale(int step, std::span<double> matrix, double factor) const;

  BurstOptions options_;
  int dim_;
  std::vector<double> basis_;  // Q^T: its rows are directions in column space
  std::vector<int> hits_;      // columns of burst 0, 1, ...
};

}  // namespace trasmuon::lab
