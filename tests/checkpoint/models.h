// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trasmuon/trasmuon.h"

namespace trasmuon::test {

using Bytes = std::vector<std::byte>;

/// Everything a checkpoint may and may not change, bit for bit.
struct Snapshot {
  std::vector<Bytes> weights;
  std::vector<Bytes> state;
  std::vector<std::string> options;  ///< one table per group

  bool operator==(const Snapshot&) const = default;
};

/// Weights, gradients and the optimizer on them.
class Model {
 public:
  /// The parameters' weights come without data and get it here.
  explicit Model(std::vector<Group> groups);

  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  /// A step with gradients that depend on `step` alone; now and then one is missing or not finite.
  void train(int step);
  void train(int first, int last);

  Snapshot snapshot() const;
  std::vector<Bytes>& weights() { return weights_; }

 private:
  std::vector<Bytes> weights_;
  std::optional<Optimizer> optimizer_;
};

/// All five rules; f64, f32, bf16 and f16 with master weights; a batch, row blocks, a
/// transposed weight, a convolution, vectors.
std::vector<Group> every_rule();

/// One matrix [2, 3] under TrasMuon and one vector under AdamW: a file of about 3 kB.
std::vector<Group> tiny();

}  // namespace trasmuon::test
