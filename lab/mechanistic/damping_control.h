// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lab/mechanistic/bursted_optimizer.h"

namespace trasmuon::lab {

/// What becomes of the damping c that TrasMuon computes; each control takes away one thing that c does.
enum class DampingControl {
  none,      ///< column j gets c_j: the rule itself
  mean,      ///< all columns get the mean of c: only a smaller step
  permuted,  ///< the same values in other columns, by one permutation for the whole run: a placebo
  blind,     ///< c_j of a momentum without bursts: a gate that never meets one
};
DampingControl damping_control(std::string_view name);  ///< by the name of the setting: "columns" is none

/// Computes the damping that a control applies on another optimizer's trajectory.
class ControlledDamping {
 public:
  /// `bursts` must outlive this object; null for a run without bursts.
  ControlledDamping(DampingControl control, const TrasMuonOptions& options, int dim, const Bursts* bursts,
                    std::uint64_t seed);

  /// c for the columns in step number `step`, from 1, given the gradient of that step.
  std::span<const double> step(int step, std::span<const double> gradient);

 private:
  DampingControl control_;
  std::vector<double> weight_, gradient_, c_;
  std::vector<int> columns_;
  BurstedOptimizer shadow_;
};

}  // namespace trasmuon::lab
