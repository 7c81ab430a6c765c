// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/serialize/archive.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "trasmuon/error.h"
#include "trasmuon/libtorch/tensors.h"
#include "trasmuon/optimizer.h"
#include "trasmuon/option_fields.h"

// The archive that torch::save(optimizer) writes: format, groups, and for each group/<g> its rule,
// options and parameter/<i> with name, layout and state.
namespace trasmuon::libtorch::detail {

using StateTensors = std::map<std::string, torch::Tensor>;

/// A parameter as it is stored in an archive.
struct SavedParameter {
  std::string name;
  std::string layout;
  StateTensors state;
};

struct SavedGroup {
  Options options;
  std::vector<SavedParameter> parameters;
};

constexpr const char* kFormat = "trasmuon.libtorch 1";

inline std::string layout_text(const Parameter& parameter) {
  std::string text = parameter.layout == Layout::batch     ? "batch"
                     : parameter.layout == Layout::flatten ? "flatten"
                                                           : "automatic";
  if (parameter.transposed) text += " transposed";
  for (std::int64_t size : parameter.row_blocks) text.append(" ").append(std::to_string(size));
  return text;
}

inline c10::IValue read_value(torch::serialize::InputArchive& archive, const std::string& key) {
  c10::IValue value;
  if (!archive.try_read(key, value))
    throw Error("load: archive has no '" + key + "'; it was not written by trasmuon::libtorch");
  return value;
}

inline torch::serialize::InputArchive read_archive(torch::serialize::InputArchive& archive, const std::string& key) {
  torch::serialize::InputArchive child;
  if (!archive.try_read(key, child)) throw Error("load: archive has no '" + key + "'");
  return child;
}

inline void write(torch::serialize::OutputArchive& archive, const SavedParameter& parameter) {
  archive.write("name", c10::IValue(parameter.name));
  archive.write("layout", c10::IValue(parameter.layout));
  torch::serialize::OutputArchive state(archive.compilation_unit());
  // Tensors are saved from the CPU, so that an archive can be read where their device is missing.
  for (const auto& [name, tensor] : parameter.state) state.write(name, tensor.cpu(), /*is_buffer=*/true);
  archive.write("state", state);
}

inline SavedParameter read_parameter(torch::serialize::InputArchive archive) {
  SavedParameter parameter{read_value(archive, "name").toStringRef(), read_value(archive, "layout").toStringRef(), {}};
  torch::serialize::InputArchive state = read_archive(archive, "state");
  for (const std::string& name : state.keys()) state.read(name, parameter.state[name], /*is_buffer=*/true);
  return parameter;
}

inline void write(torch::serialize::OutputArchive& archive, const Options& options) {
  archive.write("rule", c10::IValue(std::string(rule_name(options))));
  torch::serialize::OutputArchive fields(archive.compilation_unit());
  const auto write_field = [&](const char* name, const auto&, const Range&, const char*) {
    fields.write(name, c10::IValue(get_field(options, name)));
  };
  std::visit([&](const auto& o) { visit_fields(o, write_field); }, options);
  archive.write("options", fields);
}

inline Options read_options(torch::serialize::InputArchive& archive) {
  Options options = options_for(read_value(archive, "rule").toStringRef());
  torch::serialize::InputArchive fields = read_archive(archive, "options");
  std::map<std::string, std::string> values;
  for (const std::string& name : fields.keys()) values[name] = read_value(fields, name).toStringRef();
  set_fields(options, values);
  return options;
}

inline void write(torch::serialize::OutputArchive& archive, const std::vector<SavedGroup>& groups) {
  archive.write("format", c10::IValue(std::string(kFormat)));
  archive.write("groups", c10::IValue(static_cast<std::int64_t>(groups.size())));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    torch::serialize::OutputArchive group(archive.compilation_unit());
    write(group, groups[g].options);
    group.write("parameters", c10::IValue(static_cast<std::int64_t>(groups[g].parameters.size())));
    for (std::size_t i = 0; i < groups[g].parameters.size(); ++i) {
      torch::serialize::OutputArchive parameter(archive.compilation_unit());
      write(parameter, groups[g].parameters[i]);
      group.write("parameter/" + std::to_string(i), parameter);
    }
    archive.write("group/" + std::to_string(g), group);
  }
}

inline std::vector<SavedGroup> read_groups(torch::serialize::InputArchive& archive) {
  if (const std::string format = read_value(archive, "format").toStringRef(); format != kFormat) {
    throw Error("load: format must be '" + std::string(kFormat) + "', got '" + format + "'");
  }
  std::vector<SavedGroup> groups;
  const std::int64_t group_count = read_value(archive, "groups").toInt();
  for (std::int64_t g = 0; g < group_count; ++g) {
    torch::serialize::InputArchive group = read_archive(archive, "group/" + std::to_string(g));
    groups.push_back({read_options(group), {}});
    const std::int64_t count = read_value(group, "parameters").toInt();
    for (std::int64_t i = 0; i < count; ++i) {
      groups.back().parameters.push_back(read_parameter(read_archive(group, "parameter/" + std::to_string(i))));
    }
  }
  return groups;
}

/// Throws Error unless the saved parameter has the same name, layout and state as `own`.
inline void check_fit(const SavedParameter& own, const SavedParameter& saved) {
  if (saved.name != own.name) throw Error("load: parameter must be '" + own.name + "', got '" + saved.name + "'");
  const std::string who = "load: parameter '" + own.name + "': ";
  if (saved.layout != own.layout) throw Error(who + "layout must be " + own.layout + ", got " + saved.layout);
  for (const auto& [name, tensor] : saved.state) {
    if (!own.state.contains(name)) throw Error(who + "this optimizer has no state '" + name + "'");
  }
  for (const auto& [name, tensor] : own.state) {
    const auto found = saved.state.find(name);
    if (found == saved.state.end()) throw Error(who + "state '" + name + "' is missing");
    const torch::Tensor& other = found->second;
    if (other.scalar_type() == tensor.scalar_type() && other.sizes() == tensor.sizes()) continue;
    throw Error(who + "state '" + name + "' must be " + text_of(tensor.scalar_type()) + " " + text_of(tensor.sizes()) +
                ", got " + text_of(other.scalar_type()) + " " + text_of(other.sizes()));
  }
}

inline void check_fit(const std::vector<SavedGroup>& own, const std::vector<SavedGroup>& saved) {
  if (saved.size() != own.size()) {
    throw Error("load: archive must have " + std::to_string(own.size()) + " groups, got " +
                std::to_string(saved.size()));
  }
  for (std::size_t g = 0; g < own.size(); ++g) {
    const std::string who = "load: group " + std::to_string(g) + ": ";
    const std::string rule = rule_name(own[g].options), saved_rule = rule_name(saved[g].options);
    if (saved_rule != rule) throw Error(who + "rule must be " + rule + ", got " + saved_rule);
    const std::size_t count = own[g].parameters.size(), saved_count = saved[g].parameters.size();
    if (saved_count != count) {
      throw Error(who + "must have " + std::to_string(count) + " parameters, got " + std::to_string(saved_count));
    }
    for (std::size_t i = 0; i < count; ++i) check_fit(own[g].parameters[i], saved[g].parameters[i]);
  }
}

}  // namespace trasmuon::libtorch::detail
