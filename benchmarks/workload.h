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

/// The hidden matrices of GPT-2 small, four a layer.
std::vector<NamedMatrix> gpt2_small(int layers);

/// One f32 buffer per matrix.
class MatrixSet {
 public:
  explicit MatrixSet(std::span<const NamedMatrix> matrices);

  /// Nearly Gaussian values of this standard deviation, the same for the same seed.
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

/// A gradient for step t: of a new seed each, and from the second step on a few columns
/// burst, so that the trust region has something to damp.
void fill_gradient(MatrixSet& gradient, int t);

}  // namespace trasmuon::bench
