// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "optim/layout.h"
#include "stages/plan.h"

// What the optimizer needs to know of a rule, for each alternative of Options.
namespace trasmuon {

/// A parameter's state tensors by name.
class State {
 public:
  explicit State(const std::vector<Optimizer::StateTensor>& tensors) : tensors_(tensors) {}
  const TensorView& operator[](std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  const std::vector<Optimizer::StateTensor>& tensors_;
};

/// Lists the state tensors of a parameter under this rule.
std::vector<StateSpec> state_specs(const Options& options, const ParameterLayout& layout, const Shape& shape);
/// Returns the initial content of a state tensor of parameter `index`; `entries_before`: batch entries on lower ranks.
std::vector<std::byte> initial_state(const Options& options, std::size_t index, const StateSpec& spec,
                                     const ParameterLayout& layout, std::int64_t entries_before);

/// Returns the first field that determines the shape or dtype of state tensors and differs between two options of one
/// rule, or null.
const char* changed_state_field(const Options& before, const Options& after);

/// Points one matrix of the parameter at its part of the state.
void bind_state(const Options& options, const ParameterLayout& layout, const State& state, std::int64_t entry,
                std::size_t block, Matrix& matrix);

/// Turns options into a plan: the rule's step as data.
Plan plan_of(const Options& options);

// One file per rule.
MuonPipeline pipeline_of(const TrasMuonOptions& options);  // trasmuon.cpp
MuonPipeline pipeline_of(const NorMuonOptions& options);   // normuon.cpp
MuonPipeline pipeline_of(const MuonOptions& options);      // muon.cpp
/// eps guards the division by the input's norm against zero. It may take at most this share of the norm, so that the
/// update does not depend on the gradient's scale; norms above 1e3 eps are treated as in the public code.
constexpr double kEpsCap = 1e-3;

std::int64_t dion_rank(const DionOptions& options, std::int64_t m, std::int64_t n);  // dion.cpp
/// Fills `basis` with numbers of parameter `index`'s own, leaving out the first `skipped`.
void initialise_dion_basis(const DionOptions& options, std::size_t index, std::int64_t skipped,
                           const TensorView& basis);

}  // namespace trasmuon
