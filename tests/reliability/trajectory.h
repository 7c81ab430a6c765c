// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "checkpoint/models.h"

namespace trasmuon::test {

/// Small matrices of every rule, of which each thread takes one, and large ones, which all threads share, iterated in
/// f32 and in bf16.
inline std::vector<Group> small_and_large() {
  std::vector<Group> groups = every_rule();
  groups[0].parameters.push_back({.name = "large", .weight = {.dtype = DType::f32, .shape = {280, 260}}});
  groups.push_back({MuonOptions{.ns_precision = NewtonSchulzPrecision::bf16},
                    {{.name = "large bf16", .weight = {.dtype = DType::f32, .shape = {270, 300}}}}});
  return groups;
}

/// What small_and_large() holds after 0, 1, ... steps, computed with one thread.
class Trajectory {
 public:
  explicit Trajectory(int steps) {
    const int before = num_threads();
    set_num_threads(1);
    Model model(small_and_large());
    for (int step = 0; step < steps; ++step) {
      snapshots_.push_back(model.snapshot());
      model.train(step);
    }
    snapshots_.push_back(model.snapshot());
    set_num_threads(before);
  }

  int steps() const { return static_cast<int>(snapshots_.size()) - 1; }
  const Snapshot& after(int steps) const { return snapshots_[static_cast<std::size_t>(steps)]; }

  /// Trains a new model over all steps, calling between(step) before each, and compares after every step.
  template <class Between>
  bool holds(Between&& between) const {
    Model model(small_and_large());
    for (int step = 0; step < steps(); ++step) {
      between(step);
      model.train(step);
      if (!(model.snapshot() == after(step + 1))) return false;
    }
    return true;
  }
  bool holds() const {
    return holds([](int) {});
  }

 private:
  std::vector<Snapshot> snapshots_;
};

}  // namespace trasmuon::test
