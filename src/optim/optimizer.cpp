// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/optimizer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "optim/backends.h"
#include "optim/rule.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

struct Release {
  Backend* backend;
  void operator()(void* memory) const { backend->release(memory); }
};
using Memory = std::unique_ptr<void, Release>;

/// One parameter with everything derived from it.
struct Entry {
  Parameter parameter;
  ParameterLayout layout;
  std::vector<Optimizer::StateTensor> state;
  std::vector<Memory> owned;
  std::vector<Diagnostics> diagnostics;
  std::size_t group = 0;
  std::size_t first_matrix = 0;  ///< in the group's list of its device
};

struct GroupEntry {
  Options options;
  std::map<Device, std::vector<Matrix>> matrices;
};

void* stream_of(const Device& device, std::span<void* const> streams) {
  const auto index = static_cast<std::size_t>(device.index);
  return index < streams.size() ? streams[index] : nullptr;
}

bool keeps_master(const Entry& entry) {
  return std::any_of(entry.state.begin(), entry.state.end(), [](const auto& t) { return t.spec.name == "master"; });
}

}  // namespace

struct Optimizer::Impl {
  OptimizerOptions settings;
  std::map<Device, std::unique_ptr<Backend>> backends;  ///< outlive the memory taken from them
  std::vector<GroupEntry> groups;
  std::vector<Entry> entries;

  Backend& backend(Device device) {
    std::unique_ptr<Backend>& found = backends[device];
    if (found == nullptr) found = make_backend(device);
    return *found;
  }
  std::span<Matrix> matrices(const Entry& entry) {
    std::vector<Matrix>& all = groups[entry.group].matrices[entry.parameter.device];
    return {all.data() + entry.first_matrix, static_cast<std::size_t>(entry.layout.matrices())};
  }

  std::vector<void*> streams_of(void* stream) const;
  void add_parameter(std::size_t group, Parameter parameter);
  void build_state(Entry& entry, std::size_t index);
  void take_master(Entry& entry);
  void build_matrices(Entry& entry);
  void bind_weight(Entry& entry);
  void check_options(std::size_t group, const Options& options) const;
  void check_memory(const Parameter& parameter) const;
  Entry& at(std::size_t index);
};

Entry& Optimizer::Impl::at(std::size_t index) {
  if (index >= entries.size()) {
    throw Error("parameter index must be < " + std::to_string(entries.size()) + ", got " + std::to_string(index));
  }
  return entries[index];
}

void Optimizer::Impl::add_parameter(std::size_t group, Parameter parameter) {
  const bool elementwise = std::holds_alternative<AdamWOptions>(groups[group].options);
  Entry entry;
  entry.layout = elementwise ? layout_for_adamw(parameter) : layout_for_matrix_rule(parameter);
  check_memory(parameter);
  backend(parameter.device).check(groups[group].options);
  entry.parameter = std::move(parameter);
  entry.group = group;
  build_state(entry, entries.size());
  build_matrices(entry);
  entries.push_back(std::move(entry));
}

void Optimizer::Impl::build_state(Entry& entry, std::size_t index) {
  const TensorView& weight = entry.parameter.weight;
  std::vector<StateSpec> specs = state_specs(groups[entry.group].options, entry.layout, weight.shape);
  const bool small = weight.dtype == DType::bf16 || weight.dtype == DType::f16;
  if (settings.master_weights && small) specs.push_back({"master", DType::f32, weight.shape});
  Backend& device = backend(entry.parameter.device);
  for (StateSpec& spec : specs) {
    const std::size_t bytes = static_cast<std::size_t>(spec.shape.elements()) * size_of(spec.dtype);
    void* data = nullptr;
    if (settings.state) {
      data = settings.state(index, spec);
      if (data == nullptr)
        throw Error("parameter '" + entry.parameter.name + "': no memory lent for state '" + spec.name + "'");
    } else {
      entry.owned.emplace_back(device.allocate(bytes), Release{&device});
      data = entry.owned.back().get();
    }
    const std::vector<std::byte> initial = initial_state(groups[entry.group].options, index, spec);
    device.write(initial.data(), data, initial.size());
    const TensorView view{data, spec.dtype, spec.shape, 0};
    entry.state.push_back({std::move(spec), view});
  }
  take_master(entry);
}

void Optimizer::Impl::take_master(Entry& entry) {
  if (!keeps_master(entry)) return;
  const ParameterLayout& layout = entry.layout;
  Backend& device = backend(entry.parameter.device);
  const std::vector<float> wide =
      read_widened(entry.parameter.weight, layout.batch * layout.stored_rows(), layout.stored_cols(), device);
  device.write(wide.data(), State(entry.state)["master"].data, wide.size() * sizeof(float));
}

void Optimizer::Impl::build_matrices(Entry& entry) {
  GroupEntry& group = groups[entry.group];
  std::vector<Matrix>& matrices = group.matrices[entry.parameter.device];
  entry.first_matrix = matrices.size();
  for (std::int64_t item = 0; item < entry.layout.batch; ++item) {
    for (std::size_t block = 0; block < entry.layout.blocks.size(); ++block) {
      Matrix x;
      x.m = entry.layout.blocks[block];
      x.n = entry.layout.n;
      x.transposed = entry.layout.transposed;
      x.compute = entry.layout.compute;
      bind_state(group.options, entry.layout, State(entry.state), item, block, x);
      matrices.push_back(x);
    }
  }
  bind_weight(entry);
  if (settings.diagnostics) entry.diagnostics.resize(static_cast<std::size_t>(entry.layout.matrices()));
}

void Optimizer::Impl::bind_weight(Entry& entry) {
  const bool master = keeps_master(entry);
  Matrix* x = matrices(entry).data();
  for (std::int64_t item = 0; item < entry.layout.batch; ++item) {
    for (std::size_t block = 0; block < entry.layout.blocks.size(); ++block, ++x) {
      x->weight = slice(entry.layout, entry.parameter.weight, item, block);
      if (!master) continue;
      x->rounded = x->weight;
      x->weight = slice(entry.layout, State(entry.state)["master"], item, block);
    }
  }
}

void Optimizer::Impl::check_options(std::size_t group, const Options& options) const {
  const Options& current = groups[group].options;
  validate(options);
  const std::string who = "group " + std::to_string(group) + ": ";
  if (current.index() != options.index()) {
    throw Error(who + "rule must stay " + rule_name(current) + ", got " + rule_name(options));
  }
  for (const auto& [device, list] : groups[group].matrices) backends.at(device)->check(options);
  if (const char* field = changed_state_field(current, options); field != nullptr) {
    throw Error(who + rule_name(current) + "'s " + field + " cannot change after construction: it shapes the state");
  }
}

/// Refuses memory that another parameter has. Views with gaps may interleave, so only
/// packed ones are compared whole.
void Optimizer::Impl::check_memory(const Parameter& parameter) const {
  const auto range = [](const Parameter& p) {
    const auto* first = static_cast<const std::byte*>(p.weight.data);
    const std::int64_t elements = p.weight.row_stride == 0 ? p.weight.shape.elements() : 1;
    return std::pair(first, first + static_cast<std::size_t>(elements) * size_of(p.weight.dtype));
  };
  const auto [first, last] = range(parameter);
  for (const Entry& entry : entries) {
    const auto [other_first, other_last] = range(entry.parameter);
    if (entry.parameter.name == parameter.name || first >= other_last || other_first >= last) continue;
    throw Error("parameter '" + parameter.name + "': shares memory with '" + entry.parameter.name + "'");
  }
}

Optimizer::Optimizer(std::vector<Group> groups, OptimizerOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->settings = std::move(options);
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
  for (std::size_t g = 0; g < groups.size(); ++g) {
    impl_->groups.push_back({std::move(groups[g].options), {}});
    for (Parameter& p : groups[g].parameters) impl_->add_parameter(g, std::move(p));
  }
}

Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

/// The stream as that of the only GPU.
std::vector<void*> Optimizer::Impl::streams_of(void* stream) const {
  std::vector<void*> streams;
  for (const auto& [device, backend] : backends) {
    if (stream == nullptr || device.type == Device::Type::cpu) continue;
    if (!streams.empty()) throw Error("parameters on several GPUs need a stream for each, got one for all");
    streams.assign(static_cast<std::size_t>(device.index) + 1, stream);
  }
  return streams;
}

void Optimizer::step(std::span<const TensorView> gradients, void* stream) {
  step_on_streams(gradients, impl_->streams_of(stream));
}

void Optimizer::step_on_streams(std::span<const TensorView> gradients, std::span<void* const> streams) {
  if (gradients.size() != impl_->entries.size()) {
    throw Error("step: needs one gradient per parameter, " + std::to_string(impl_->entries.size()) + ", got " +
                std::to_string(gradients.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Entry& entry = impl_->entries[i];
    if (gradients[i]) check_gradient(entry.parameter, entry.layout, gradients[i]);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Entry& entry = impl_->entries[i];
    Matrix* x = impl_->matrices(entry).data();
    std::size_t index = 0;
    for (std::int64_t item = 0; item < entry.layout.batch; ++item) {
      for (std::size_t block = 0; block < entry.layout.blocks.size(); ++block, ++x, ++index) {
        x->gradient = gradients[i] ? slice(entry.layout, gradients[i], item, block) : MatrixView{};
        if (entry.diagnostics.empty()) continue;
        x->diagnostics = &entry.diagnostics[index];
        // Elsewhere the counts are in the device's memory and are read when they are asked for.
        if (entry.parameter.device == Device::cpu()) *x->diagnostics = {.step = *x->step, .skipped = *x->skipped};
      }
    }
  }
  // What is on GPUs first: they go on by themselves while the CPU works.
  for (const Device::Type type : {Device::Type::cuda, Device::Type::cpu}) {
    for (GroupEntry& group : impl_->groups) {
      for (auto& [device, matrices] : group.matrices) {
        if (device.type != type) continue;
        impl_->backend(device).run(matrices, step_of(group.options), stream_of(device, streams));
      }
    }
  }
}

void Optimizer::refresh_recorded(void* stream) { refresh_recorded_on_streams(impl_->streams_of(stream)); }

void Optimizer::refresh_recorded_on_streams(std::span<void* const> streams) {
  for (const auto action : {&Backend::check_recorded, &Backend::refresh_recorded}) {  // all or none
    for (GroupEntry& group : impl_->groups) {
      for (auto& [device, matrices] : group.matrices)
        (impl_->backend(device).*action)(matrices, step_of(group.options), stream_of(device, streams));
    }
  }
}

std::size_t Optimizer::group_count() const { return impl_->groups.size(); }

const Options& Optimizer::options(std::size_t group) const {
  if (group >= impl_->groups.size()) {
    throw Error("group index must be < " + std::to_string(impl_->groups.size()) + ", got " + std::to_string(group));
  }
  return impl_->groups[group].options;
}

void Optimizer::set_options(std::vector<Options> options) {
  if (options.size() != group_count()) {
    throw Error("set_options: needs options for " + std::to_string(group_count()) + " groups, got " +
                std::to_string(options.size()));
  }
  for (std::size_t g = 0; g < options.size(); ++g) impl_->check_options(g, options[g]);
  for (std::size_t g = 0; g < options.size(); ++g) impl_->groups[g].options = std::move(options[g]);
}

void Optimizer::set_options(std::size_t group, Options options) {
  (void)this->options(group);  // refuses an index out of range
  impl_->check_options(group, options);
  impl_->groups[group].options = std::move(options);
}

void Optimizer::set(std::size_t group, std::string_view field, double value) {
  Options changed = options(group);
  set_field(changed, field, value);
  set_options(group, std::move(changed));
}

void Optimizer::set_lr(double lr) {
  std::vector<Options> changed;
  for (const GroupEntry& group : impl_->groups) {
    changed.push_back(group.options);
    set_field(changed.back(), "lr", lr);
  }
  set_options(std::move(changed));
}

std::size_t Optimizer::parameter_count() const { return impl_->entries.size(); }
const Parameter& Optimizer::parameter(std::size_t index) const { return impl_->at(index).parameter; }
std::size_t Optimizer::group_of(std::size_t index) const { return impl_->at(index).group; }

std::size_t Optimizer::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < impl_->entries.size(); ++i) {
    if (impl_->entries[i].parameter.name == name) return i;
  }
  throw Error("no parameter named '" + std::string(name) + "'");
}

void Optimizer::rebind_weight(std::size_t index, void* data) {
  Entry& entry = impl_->at(index);
  if (data == nullptr) throw Error("parameter '" + entry.parameter.name + "': weight has no data");
  Parameter moved = entry.parameter;
  moved.weight.data = data;
  impl_->check_memory(moved);
  entry.parameter = std::move(moved);
  impl_->bind_weight(entry);
}

void Optimizer::refresh_master(std::size_t index) { impl_->take_master(impl_->at(index)); }

std::span<const Optimizer::StateTensor> Optimizer::state(std::size_t index) const { return impl_->at(index).state; }

TensorView Optimizer::state(std::size_t index, std::string_view name) const {
  Entry& entry = impl_->at(index);
  const State state(entry.state);
  if (!state.has(name))
    throw Error("parameter '" + entry.parameter.name + "': has no state '" + std::string(name) + "'");
  return state[name];
}

namespace {

std::size_t bytes_of(const TensorView& x) { return static_cast<std::size_t>(x.shape.elements()) * size_of(x.dtype); }

}  // namespace

void Optimizer::read_state(std::size_t index, std::string_view name, void* host) const {
  const TensorView tensor = state(index, name);
  impl_->backend(impl_->at(index).parameter.device).read(tensor.data, host, bytes_of(tensor));
}

void Optimizer::write_state(std::size_t index, std::string_view name, const void* host) {
  const TensorView tensor = state(index, name);
  impl_->backend(impl_->at(index).parameter.device).write(host, tensor.data, bytes_of(tensor));
}

std::span<const Diagnostics> Optimizer::diagnostics(std::size_t index) const {
  const Entry& entry = impl_->at(index);
  const Device device = entry.parameter.device;
  if (!entry.diagnostics.empty()) {
    impl_->backend(device).diagnose(impl_->groups[entry.group].matrices[device], entry.first_matrix,
                                    entry.diagnostics.size());
  }
  return entry.diagnostics;
}

std::vector<std::string> Optimizer::warnings() const {
  std::vector<std::string> list;
  for (const GroupEntry& group : impl_->groups) {
    for (std::string& text : trasmuon::warnings(group.options)) list.push_back(std::move(text));
  }
  return list;
}

std::size_t Optimizer::state_bytes() const {
  std::size_t bytes = 0;
  for (const Entry& entry : impl_->entries) {
    for (const StateTensor& t : entry.state) bytes += bytes_of(t.view);
  }
  return bytes;
}

std::size_t Optimizer::workspace_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [device, backend] : impl_->backends) bytes += backend->workspace_bytes();
  return bytes;
}

}  // namespace trasmuon
