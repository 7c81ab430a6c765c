// SPDX-License-Identifier: Apache-2.0
#include "optim/parameter_table.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "optim/device.h"
#include "optim/rule.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

/// A gradient without elements may have no data, but it has a shape.
bool is_present(const TensorView& gradient) {
  return gradient || (gradient.shape.rank() > 0 && gradient.shape.elements() == 0);
}

bool keeps_master(const ParameterEntry& entry) { return State(entry.state).has("master"); }

/// A bf16 or f16 matrix in the device's memory, as packed f32. What lies between its rows is not the caller's to lend
/// and is not read.
std::vector<float> read_widened(const TensorView& from, std::int64_t rows, std::int64_t cols, Backend& backend) {
  const auto count = static_cast<std::size_t>(rows * cols), width = static_cast<std::size_t>(cols);
  std::vector<std::uint16_t> bits(count);
  if (from.row_stride == 0 || from.row_stride == cols) {
    backend.read(from.data, bits.data(), count * sizeof(std::uint16_t));
  } else {
    const auto* first = static_cast<const std::uint16_t*>(from.data);
    for (std::int64_t i = 0; i < rows; ++i)
      backend.read(first + i * from.row_stride, bits.data() + i * cols, width * sizeof(std::uint16_t));
  }
  std::vector<float> wide(count);
  for (std::size_t i = 0; i < count; ++i)
    wide[i] = from.dtype == DType::bf16 ? to_float(bf16{bits[i]}) : to_float(f16{bits[i]});
  return wide;
}

void check_groups(const std::vector<Group>& groups) {
  if (groups.empty()) throw Error("optimizer: groups must not be empty");
  std::set<std::string> names;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    validate(groups[g].options);
    if (groups[g].parameters.empty()) {
      throw Error("group " + std::to_string(g) + " (" + rule_name(groups[g].options) + "): has no parameters");
    }
    for (const Parameter& p : groups[g].parameters) {
      if (p.name.empty()) throw Error("group " + std::to_string(g) + ": a parameter has no name");
      if (!names.insert(p.name).second) throw Error("parameter '" + p.name + "': listed twice");
    }
  }
}

}  // namespace

ParameterTable::ParameterTable(std::vector<Group> groups, OptimizerOptions settings) : settings_(std::move(settings)) {
  check_groups(groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups_.push_back({std::move(groups[g].options), {}, {}});
    for (Parameter& p : groups[g].parameters) {
      index_of_name_.emplace(p.name, entries_.size());
      add_parameter(g, std::move(p));
    }
  }
}

ParameterEntry& ParameterTable::entry(std::size_t index) {
  if (index >= entries_.size()) {
    throw Error("parameter index must be < " + std::to_string(entries_.size()) + ", got " + std::to_string(index));
  }
  return entries_[index];
}

GroupEntry& ParameterTable::group(std::size_t index) {
  if (index >= groups_.size()) {
    throw Error("group index must be < " + std::to_string(groups_.size()) + ", got " + std::to_string(index));
  }
  return groups_[index];
}

std::size_t ParameterTable::index_of(std::string_view name) const {
  const auto found = index_of_name_.find(name);
  if (found == index_of_name_.end()) throw Error("no parameter named '" + std::string(name) + "'");
  return found->second;
}

Backend& ParameterTable::backend(Device device) {
  std::unique_ptr<Backend>& found = backends_[device];
  if (found == nullptr) found = make_backend(device);
  return *found;
}

std::vector<Matrix>& ParameterTable::matrices_of(const ParameterEntry& entry) {
  GroupEntry& group = groups_[entry.group];
  return (entry.layout.cut ? group.cut : group.matrices)[entry.parameter.device];
}

template <class Body>
void ParameterTable::for_each_matrix(const ParameterEntry& entry, Body&& body) {
  Matrix* x = matrices_of(entry).data() + entry.first_matrix;
  for (std::int64_t item = 0; item < entry.layout.batch; ++item) {
    for (std::size_t block = 0; block < entry.layout.blocks.size(); ++block) body(*x++, item, block);
  }
}

void ParameterTable::add_parameter(std::size_t group, Parameter parameter) {
  const Options& options = groups_[group].options;
  ParameterEntry entry;
  entry.layout =
      std::holds_alternative<AdamWOptions>(options) ? layout_for_adamw(parameter) : layout_for_matrix_rule(parameter);
  check_memory(parameter);
  backend(parameter.device).check(options);
  entry.parameter = std::move(parameter);
  entry.group = group;
  build_state(entry, entries_.size());
  build_matrices(entry);
  entries_.push_back(std::move(entry));
}

void ParameterTable::build_state(ParameterEntry& entry, std::size_t index) {
  const TensorView& weight = entry.parameter.weight;
  const Options& options = groups_[entry.group].options;
  std::vector<StateSpec> specs = state_specs(options, entry.layout, weight.shape);
  const bool small = weight.dtype == DType::bf16 || weight.dtype == DType::f16;
  if (settings_.master_weights && small) specs.push_back({"master", DType::f32, weight.shape});
  Backend& device = backend(entry.parameter.device);
  for (StateSpec& spec : specs) {
    const std::size_t bytes = static_cast<std::size_t>(spec.shape.elements()) * size_of(spec.dtype);
    void* data = nullptr;
    if (settings_.state) {
      data = settings_.state(index, spec);
      if (data == nullptr && bytes > 0)
        throw Error("parameter '" + entry.parameter.name + "': the state callback returned no memory for '" +
                    spec.name + "'");
    } else {
      // Owned before the list grows, which may throw.
      std::unique_ptr<void, ReleaseMemory> memory(device.allocate(bytes), ReleaseMemory{&device});
      data = memory.get();
      entry.owned.push_back(std::move(memory));
    }
    const auto& shard = entry.parameter.shard;
    const std::vector<std::byte> initial =
        initial_state(options, index, spec, entry.layout, shard && !entry.layout.cut ? shard->first_row : 0);
    if (!initial.empty()) device.write(initial.data(), data, initial.size());
    const TensorView view{data, spec.dtype, spec.shape, 0};
    entry.state.push_back({std::move(spec), view});
  }
  refresh_master(entry);
}

void ParameterTable::refresh_master(ParameterEntry& entry) {
  if (!keeps_master(entry) || entry.parameter.weight.shape.elements() == 0) return;
  const ParameterLayout& layout = entry.layout;
  Backend& device = backend(entry.parameter.device);
  const std::vector<float> wide =
      read_widened(entry.parameter.weight, layout.batch * layout.stored_rows(), layout.stored_cols(), device);
  device.write(wide.data(), State(entry.state)["master"].data, wide.size() * sizeof(float));
}

void ParameterTable::build_matrices(ParameterEntry& entry) {
  GroupEntry& group = groups_[entry.group];
  std::vector<Matrix>& matrices = matrices_of(entry);
  const auto count = static_cast<std::size_t>(entry.layout.matrices());
  entry.first_matrix = matrices.size();
  matrices.resize(matrices.size() + count);
  if (settings_.diagnostics) entry.diagnostics.resize(count);
  Diagnostics* diagnostics = entry.diagnostics.empty() ? nullptr : entry.diagnostics.data();
  for_each_matrix(entry, [&](Matrix& x, std::int64_t item, std::size_t block) {
    x.m = entry.layout.block_rows(block).count;
    x.whole_m = entry.layout.blocks[block];
    x.n = entry.layout.n;
    x.transposed = entry.layout.transposed;
    x.compute = entry.layout.compute;
    bind_state(group.options, entry.layout, State(entry.state), item, block, x);
    if (diagnostics != nullptr) x.diagnostics = diagnostics++;
  });
  bind_weight(entry);
}

void ParameterTable::bind_weight(ParameterEntry& entry) {
  const bool master = keeps_master(entry);
  for_each_matrix(entry, [&](Matrix& x, std::int64_t item, std::size_t block) {
    x.weight = slice(entry.layout, entry.parameter.weight, item, block);
    if (!master) return;
    x.rounded = x.weight;
    x.weight = slice(entry.layout, State(entry.state)["master"], item, block);
  });
}

void ParameterTable::bind_gradients(std::span<const TensorView> gradients) {
  if (gradients.size() != entries_.size()) {
    throw Error("step: needs one gradient per parameter, " + std::to_string(entries_.size()) + ", got " +
                std::to_string(gradients.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (is_present(gradients[i])) check_gradient(entries_[i].parameter, entries_[i].layout, gradients[i]);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    TensorView gradient = gradients[i];
    static std::byte nothing;  // address of a gradient that is there but has no elements
    if (!gradient && is_present(gradient)) gradient.data = &nothing;
    for_each_matrix(entries_[i], [&](Matrix& x, std::int64_t item, std::size_t block) {
      x.gradient = gradient ? slice(entries_[i].layout, gradient, item, block) : MatrixView{};
    });
  }
}

void ParameterTable::check_whole() const {
  for (const ParameterEntry& entry : entries_) {
    const ParameterLayout& layout = entry.layout;
    if (!layout.cut || layout.rows.count == layout.m) continue;
    throw Error("step: parameter '" + entry.parameter.name + "' has " + std::to_string(layout.rows.count) + " of its " +
                std::to_string(layout.m) + " rows here; step it with a ShardedStep");
  }
}

void ParameterTable::rebind_weight(std::size_t index, void* data) {
  ParameterEntry& found = entry(index);
  if (data == nullptr && found.parameter.weight.shape.elements() > 0) {
    throw Error("parameter '" + found.parameter.name + "': weight has no data");
  }
  Parameter moved = found.parameter;
  moved.weight.data = data;
  check_memory(moved);
  found.parameter.weight.data = data;
  bind_weight(found);
}

void ParameterTable::check_options(std::size_t group, const Options& options) {
  const Options& current = groups_[group].options;
  validate(options);
  const std::string who = "group " + std::to_string(group) + ": ";
  if (current.index() != options.index()) {
    throw Error(who + "rule must stay " + rule_name(current) + ", got " + rule_name(options));
  }
  for (const auto* lists : {&groups_[group].matrices, &groups_[group].cut}) {
    for (const auto& [device, matrices] : *lists) backend(device).check(options);
  }
  if (const char* field = changed_state_field(current, options); field != nullptr) {
    throw Error(who + rule_name(current) + "'s " + field + " cannot change after construction: it shapes the state");
  }
}

/// Refuses memory that another parameter has. Views with gaps may interleave, so only packed ones are compared whole.
void ParameterTable::check_memory(const Parameter& parameter) const {
  const auto range = [](const Parameter& p) {
    const auto* first = static_cast<const std::byte*>(p.weight.data);
    const std::int64_t all = p.weight.shape.elements();
    const std::int64_t elements = p.weight.row_stride == 0 ? all : std::min(all, std::int64_t{1});
    return std::pair(first, first + static_cast<std::size_t>(elements) * size_of(p.weight.dtype));
  };
  const auto [first, last] = range(parameter);
  for (const ParameterEntry& entry : entries_) {
    const auto [other_first, other_last] = range(entry.parameter);
    if (entry.parameter.name == parameter.name || first >= other_last || other_first >= last) continue;
    throw Error("parameter '" + parameter.name + "': shares memory with '" + entry.parameter.name + "'");
  }
}

}  // namespace trasmuon
