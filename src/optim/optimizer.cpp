// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/optimizer.h"

#include <utility>

#include "optim/parameter_table.h"
#include "optim/rule.h"
#include "optim/run_lists.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

std::size_t bytes_of(const TensorView& x) { return static_cast<std::size_t>(x.shape.elements()) * size_of(x.dtype); }

}  // namespace

Optimizer::Optimizer(std::vector<Group> groups, OptimizerOptions options)
    : table_(std::make_unique<ParameterTable>(std::move(groups), std::move(options))) {}
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

void Optimizer::step(std::span<const TensorView> gradients, void* stream) {
  step_on_streams(gradients, streams_of(*table_, stream));
}

void Optimizer::step_on_streams(std::span<const TensorView> gradients, std::span<void* const> streams) {
  table_->check_whole();
  if (table_->in_sharded_step) throw Error("step: a ShardedStep is under way; apply or cancel it first");
  const std::vector<Plan> plans = plans_of(*table_);
  table_->bind_gradients(gradients);
  // All memory is taken before the first write.
  for (const auto action : {&Backend::prepare, &Backend::run}) {
    for (const auto list : {&GroupEntry::matrices, &GroupEntry::cut}) run_lists(*table_, list, action, plans, streams);
  }
}

void Optimizer::refresh_recorded(void* stream) { refresh_recorded_on_streams(streams_of(*table_, stream)); }

void Optimizer::refresh_recorded_on_streams(std::span<void* const> streams) {
  for (const auto action : {&Backend::check_recorded, &Backend::refresh_recorded}) {  // all or none
    for (const auto list : {&GroupEntry::matrices, &GroupEntry::cut})
      run_lists(*table_, list, action, plans_of(*table_), streams);
  }
}

std::size_t Optimizer::group_count() const { return table_->groups().size(); }
const Options& Optimizer::options(std::size_t group) const { return table_->group(group).options; }

void Optimizer::set_options(std::vector<Options> options) {
  if (options.size() != group_count()) {
    throw Error("set_options: needs options for " + std::to_string(group_count()) + " groups, got " +
                std::to_string(options.size()));
  }
  for (std::size_t g = 0; g < options.size(); ++g) table_->check_options(g, options[g]);
  for (std::size_t g = 0; g < options.size(); ++g) table_->group(g).options = std::move(options[g]);
}

void Optimizer::set_options(std::size_t group, Options options) {
  GroupEntry& entry = table_->group(group);
  table_->check_options(group, options);
  entry.options = std::move(options);
}

void Optimizer::set(std::size_t group, std::string_view field, double value) {
  Options changed = options(group);
  set_field(changed, field, value);
  set_options(group, std::move(changed));
}

void Optimizer::set_lr(double lr) {
  std::vector<Options> changed;
  for (const GroupEntry& group : table_->groups()) {
    changed.push_back(group.options);
    set_field(changed.back(), "lr", lr);
  }
  set_options(std::move(changed));
}

std::size_t Optimizer::parameter_count() const { return table_->entries().size(); }
const Parameter& Optimizer::parameter(std::size_t index) const { return table_->entry(index).parameter; }
std::size_t Optimizer::group_of(std::size_t index) const { return table_->entry(index).group; }
std::size_t Optimizer::index_of(std::string_view name) const { return table_->index_of(name); }

void Optimizer::rebind_weight(std::size_t index, void* data) { table_->rebind_weight(index, data); }
void Optimizer::refresh_master(std::size_t index) { table_->refresh_master(table_->entry(index)); }

std::span<const Optimizer::StateTensor> Optimizer::state(std::size_t index) const { return table_->entry(index).state; }

TensorView Optimizer::state(std::size_t index, std::string_view name) const {
  const ParameterEntry& entry = table_->entry(index);
  const State state(entry.state);
  if (!state.has(name))
    throw Error("parameter '" + entry.parameter.name + "': has no state '" + std::string(name) + "'");
  return state[name];
}

void Optimizer::read_state(std::size_t index, std::string_view name, void* host) const {
  const TensorView tensor = state(index, name);
  table_->backend(parameter(index).device).read(tensor.data, host, bytes_of(tensor));
}

void Optimizer::write_state(std::size_t index, std::string_view name, const void* host) {
  const TensorView tensor = state(index, name);
  table_->backend(parameter(index).device).write(host, tensor.data, bytes_of(tensor));
}

std::span<const Diagnostics> Optimizer::diagnostics(std::size_t index) const {
  const ParameterEntry& entry = table_->entry(index);
  const Device device = entry.parameter.device;
  if (!entry.diagnostics.empty()) {
    table_->backend(device).diagnose(table_->matrices_of(entry), entry.first_matrix, entry.diagnostics.size());
  }
  return entry.diagnostics;
}

std::vector<std::string> Optimizer::warnings() const {
  std::vector<std::string> list;
  for (const GroupEntry& group : table_->groups()) {
    for (std::string& text : trasmuon::warnings(group.options)) list.push_back(std::move(text));
  }
  return list;
}

std::size_t Optimizer::state_bytes() const {
  std::size_t bytes = 0;
  for (const ParameterEntry& entry : table_->entries()) {
    for (const StateTensor& t : entry.state) bytes += bytes_of(t.view);
  }
  return bytes;
}

std::size_t Optimizer::workspace_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [device, backend] : table_->backends()) bytes += backend->workspace_bytes();
  return bytes;
}

}  // namespace trasmuon
