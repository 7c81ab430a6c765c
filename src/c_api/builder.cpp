// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <memory>

#include "c_api/convert.h"
#include "c_api/guard.h"
#include "c_api/handles.h"

using namespace trasmuon::c_api;

namespace trasmuon::c_api {
namespace {

constexpr std::size_t kFirstParameterSize = offsetof(trasmuon_parameter, device);

/// Accepts the larger struct of a later header as long as its new fields are zero, and the smaller
/// one of the first header.
void check_struct_size(const trasmuon_parameter& parameter) {
  const std::size_t size = parameter.struct_size, known = sizeof(trasmuon_parameter);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&parameter);
  if (size < kFirstParameterSize || size > kLargestStruct) {
    throw Error("parameter: struct_size must be sizeof(trasmuon_parameter) = " + std::to_string(known) + ", got " +
                std::to_string(size));
  }
  if (size > known && std::any_of(bytes + known, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Error("parameter: struct_size must be <= " + std::to_string(known) +
                " unless all bytes beyond are zero: this library does not know these fields, got " +
                std::to_string(size));
  }
}

Parameter to_parameter(const trasmuon_parameter& from) {
  check_struct_size(from);
  require_array(from.row_blocks, from.row_block_count, "parameter->row_blocks");
  Parameter to;
  to.name = &require(from.name, "parameter->name");
  if (from.row_block_count > 0) to.row_blocks.assign(from.row_blocks, from.row_blocks + from.row_block_count);
  about([&] { return "parameter '" + to.name + "'"; },
        [&] {
          to.weight = to_view(from.weight);
          to.layout = to_enum(from.layout, Layout::flatten, "layout");
          to.transposed = to_bool(from.transposed, "transposed");
          if (from.struct_size > kFirstParameterSize) to.device = to_device(from.device);
          if (from.struct_size > offsetof(trasmuon_parameter, first_row) && from.total_rows != 0)
            to.shard = RowShard{from.first_row, from.total_rows};
        });
  return to;
}

}  // namespace
}  // namespace trasmuon::c_api

int trasmuon_builder_create(trasmuon_builder** builder) {
  return guarded(__func__, [&] {
    trasmuon_builder*& out = require(builder, "builder");
    out = new trasmuon_builder;
  });
}

void trasmuon_builder_destroy(trasmuon_builder* builder) { delete builder; }

int trasmuon_builder_add_group(trasmuon_builder* builder, const trasmuon_options* options, size_t* group) {
  return guarded(__func__, [&] {
    auto& groups = require(builder, "builder").groups;
    groups.push_back({require(options, "options").options, {}});
    if (group != nullptr) *group = groups.size() - 1;
  });
}

int trasmuon_builder_add_parameter(trasmuon_builder* builder, const trasmuon_parameter* parameter, size_t* index) {
  return guarded(__func__, [&] {
    trasmuon_builder& b = require(builder, "builder");
    trasmuon::Parameter added = to_parameter(require(parameter, "parameter"));
    if (b.groups.empty())
      throw trasmuon::Error("parameter '" + added.name +
                            "': must be in a group, call trasmuon_builder_add_group first");
    b.groups.back().parameters.push_back(std::move(added));
    if (index != nullptr) *index = b.parameters;
    ++b.parameters;
  });
}

int trasmuon_builder_set_master_weights(trasmuon_builder* builder, int on) {
  return guarded(__func__,
                 [&] { require(builder, "builder").settings.master_weights = to_bool(on, "master_weights"); });
}

int trasmuon_builder_set_diagnostics(trasmuon_builder* builder, int on) {
  return guarded(__func__, [&] { require(builder, "builder").settings.diagnostics = to_bool(on, "diagnostics"); });
}

int trasmuon_builder_set_state(trasmuon_builder* builder, trasmuon_state_callback callback, void* user) {
  return guarded(__func__, [&] {
    trasmuon::StateProvider provider;
    if (callback != nullptr) {
      provider = [callback, user](std::size_t index, const trasmuon::StateSpec& spec) {
        const trasmuon_tensor wanted = from_view({nullptr, spec.dtype, spec.shape, 0});
        return callback(user, index, spec.name.c_str(), &wanted);
      };
    }
    require(builder, "builder").settings.state = std::move(provider);
  });
}

int trasmuon_builder_finish(const trasmuon_builder* builder, trasmuon_optimizer** optimizer) {
  return guarded(__func__, [&] {
    const trasmuon_builder& b = require(builder, "builder");
    trasmuon_optimizer*& out = require(optimizer, "optimizer");
    out = new trasmuon_optimizer{trasmuon::Optimizer(b.groups, b.settings), {}};
  });
}
