// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/layout.h"
#include "stages/backend.h"
#include "trasmuon/optimizer.h"

namespace trasmuon {

/// Gives memory back to the backend it came from.
struct ReleaseMemory {
  Backend* backend;
  void operator()(void* memory) const { backend->release(memory); }
};

/// One parameter with everything derived from it.
struct ParameterEntry {
  Parameter parameter;
  ParameterLayout layout;
  std::vector<Optimizer::StateTensor> state;
  std::vector<std::unique_ptr<void, ReleaseMemory>> owned;  ///< memory of the state, unless the caller lends it
  std::vector<Diagnostics> diagnostics;                     ///< one per matrix; empty: off
  std::size_t group = 0;
  std::size_t first_matrix = 0;  ///< in the list that matrices_of() returns
};

/// Asynchronous devices first: they keep working while the CPU does its part.
template <class Value>
using ByDevice = std::map<Device, Value, std::greater<>>;

struct GroupEntry {
  Options options;
  ByDevice<std::vector<Matrix>> matrices;  ///< all of whose rows are here
  ByDevice<std::vector<Matrix>> cut;       ///< rows of which may be on other ranks
};

/// The parameters of an optimizer, their state, and the matrices that backends step. Every function throws Error on the
/// first mistake and then leaves the table as it was.
class ParameterTable {
 public:
  ParameterTable(std::vector<Group> groups, OptimizerOptions settings);

  std::vector<GroupEntry>& groups() { return groups_; }
  std::vector<ParameterEntry>& entries() { return entries_; }
  ParameterEntry& entry(std::size_t index);
  GroupEntry& group(std::size_t index);
  std::size_t index_of(std::string_view name) const;
  Backend& backend(Device device);
  const ByDevice<std::unique_ptr<Backend>>& backends() const { return backends_; }
  const OptimizerOptions& settings() const { return settings_; }
  /// The list of the parameter's group and device that its matrices are in.
  std::vector<Matrix>& matrices_of(const ParameterEntry& entry);

  /// Points the matrices at this step's gradients.
  void bind_gradients(std::span<const TensorView> gradients);
  void rebind_weight(std::size_t index, void* data);
  /// Copies a 16-bit weight into its f32 master; without a master it does nothing.
  void refresh_master(ParameterEntry& entry);
  void check_options(std::size_t group, const Options& options);
  /// Throws Error if a matrix has rows on other ranks.
  void check_whole() const;

  bool in_sharded_step = false;  ///< a ShardedStep has begun and is neither applied nor cancelled

 private:
  void add_parameter(std::size_t group, Parameter parameter);
  void build_state(ParameterEntry& entry, std::size_t index);
  void build_matrices(ParameterEntry& entry);
  void bind_weight(ParameterEntry& entry);
  void check_memory(const Parameter& parameter) const;
  /// Calls body(matrix, batch entry, row block) for every matrix of the parameter.
  template <class Body>
  void for_each_matrix(const ParameterEntry& entry, Body&& body);

  OptimizerOptions settings_;
  ByDevice<std::unique_ptr<Backend>> backends_;  ///< before the entries: they outlive the memory taken from them
  std::vector<GroupEntry> groups_;
  std::vector<ParameterEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_of_name_;
};

}  // namespace trasmuon
