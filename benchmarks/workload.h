// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trasmuon/tensor.h"

namespace trasmuon::bench {

struct NamedMatrix {
  std::string name;
  std::int64_t rows, cols;
};

/// The hidden matrices of GPT-2 small, four per layer.
std::vector<NamedMatrix> gpt2_small(int layers);

/// One f32 buffer per matrix.
class MatrixSet {
 public:
  explicit MatrixSet(std::span<const NamedMatrix> matrices);

  /// Fills with nearly Gaussian values of this standard deviation, reproducible from the seed.
  void fill(double deviation, std::uint64_t seed);
  /// Multiplies the columns `offset`, `offset + every`, ... of every matrix.
  void scale_columns(std::int64_t offset, std::int64_t every, float factor);
  void copy_from(const MatrixSet& other) { values_ = other.values_; }

  std::vector<TensorView> views();
  std::span<const float> values(std::size_t index) const { return values_[index]; }
  std::int64_t elements() const;

 private:
  std::vector<NamedMatrix> matrices_;
  std::vector<std::vector<float>> values_;
};

/// Fills in a gradient for step t. From the second step on the energy of a few columns
/// bursts, so that the trust region damps them.
void fill_gradient(MatrixSet& gradient, int t);

}  // namespace trasmuon::bench
