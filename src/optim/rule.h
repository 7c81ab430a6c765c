// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optim/layout.h"
#include "stages/backend.h"

// What the optimizer needs to know of a rule, for each alternative of Options.
namespace trasmuon {

/// A parameter's state tensors by name.
class State {
 public:
  explicit State(std::vector<Optimizer::StateTensor>& tensors) : tensors_(tensors) {}
  const TensorView& operator[](std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  std::vector<Optimizer::StateTensor>& tensors_;
};

/// State tensors of a parameter under this rule, and what is in them at first.
std::vector<StateSpec> state_specs(const Options& options, const ParameterLayout& layout, const Shape& shape);
std::vector<std::byte> initial_state(const Options& options, std::size_t index, const StateSpec& spec);

/// The field that shapes the state and differs between options of one rule, or null.
const char* changed_state_field(const Options& before, const Options& after);

/// Points one matrix of the parameter at its part of the state.
void bind_state(const Options& options, const ParameterLayout& layout, const State& state, std::int64_t entry,
                std::size_t block, Matrix& matrix);

/// The rule's step with these options, to be called on each batch of matrices.
Backend::Step step_of(const Options& options);

// The pieces, one rule a file.
MuonPipeline pipeline_of(const TrasMuonOptions& options);                            // trasmuon.cpp
MuonPipeline pipeline_of(const NorMuonOptions& options);                             // normuon.cpp
MuonPipeline pipeline_of(const MuonOptions& options);                                // muon.cpp
void step(const MuonPipeline& pipeline, Stages& stages, std::span<Matrix> batch);    // muon_pipeline.cpp
std::int64_t dion_rank(const DionOptions& options, std::int64_t m, std::int64_t n);  // dion.cpp
void initialise_dion_basis(const DionOptions& options, std::size_t index, const TensorView& basis);

}  // namespace trasmuon
