// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/optimizer.h"

#include <algorithm>
#include <cstring>

#include "c_api/convert.h"
#include "c_api/guard.h"
#include "c_api/handles.h"
#include "trasmuon/checkpoint.h"

using namespace trasmuon::c_api;

namespace trasmuon::c_api {
namespace {

template <class Handle>
auto& optimizer_of(Handle* handle) {
  return require(handle, "optimizer").optimizer;
}

template <class T>
const T& element(std::span<const T> list, std::size_t index, const std::string& what) {
  if (index >= list.size()) {
    throw Error(what + " must be < " + std::to_string(list.size()) + ", got " + std::to_string(index));
  }
  return list[index];
}

trasmuon_diagnostics to_c(const Diagnostics& d) {
  return {d.step,   d.skipped,      d.updated,    d.r_max,   d.r_q95,         d.c_min,
          d.c_mean, d.damped_share, d.update_rms, d.eta_hat, d.isometry_error};
}

void step(trasmuon_optimizer* optimizer, const trasmuon_tensor* gradients, std::size_t count, void* stream) {
  trasmuon_optimizer& o = require(optimizer, "optimizer");
  o.optimizer.step(to_gradients(gradients, count, o.gradients), stream);
}

}  // namespace
}  // namespace trasmuon::c_api

void trasmuon_optimizer_destroy(trasmuon_optimizer* optimizer) { delete optimizer; }

int trasmuon_optimizer_step(trasmuon_optimizer* optimizer, const trasmuon_tensor* gradients, size_t count) {
  return guarded(__func__, [&] { step(optimizer, gradients, count, nullptr); });
}

int trasmuon_optimizer_step_on(trasmuon_optimizer* optimizer, const trasmuon_tensor* gradients, size_t count,
                               void* stream) {
  return guarded(__func__, [&] { step(optimizer, gradients, count, stream); });
}

int trasmuon_optimizer_step_on_streams(trasmuon_optimizer* optimizer, const trasmuon_tensor* gradients, size_t count,
                                       void* const* streams, size_t stream_count) {
  return guarded(__func__, [&] {
    trasmuon_optimizer& o = require(optimizer, "optimizer");
    require_array(streams, stream_count, "streams");
    o.optimizer.step_on_streams(to_gradients(gradients, count, o.gradients), std::span(streams, stream_count));
  });
}

int trasmuon_optimizer_refresh_recorded(trasmuon_optimizer* optimizer, void* stream) {
  return guarded(__func__, [&] { require(optimizer, "optimizer").optimizer.refresh_recorded(stream); });
}

int trasmuon_optimizer_refresh_recorded_on_streams(trasmuon_optimizer* optimizer, void* const* streams,
                                                   size_t stream_count) {
  return guarded(__func__, [&] {
    trasmuon_optimizer& o = require(optimizer, "optimizer");
    require_array(streams, stream_count, "streams");
    o.optimizer.refresh_recorded_on_streams(std::span(streams, stream_count));
  });
}

int trasmuon_optimizer_group_count(const trasmuon_optimizer* optimizer, size_t* count) {
  return guarded(__func__, [&] { require(count, "count") = optimizer_of(optimizer).group_count(); });
}

int trasmuon_optimizer_get_options(const trasmuon_optimizer* optimizer, size_t group, trasmuon_options** options) {
  return guarded(__func__, [&] {
    trasmuon_options*& out = require(options, "options");
    out = new trasmuon_options{optimizer_of(optimizer).options(group)};
  });
}

int trasmuon_optimizer_set_options(trasmuon_optimizer* optimizer, size_t group, const trasmuon_options* options) {
  return guarded(__func__, [&] { optimizer_of(optimizer).set_options(group, require(options, "options").options); });
}

int trasmuon_optimizer_set(trasmuon_optimizer* optimizer, size_t group, const char* field, const char* value) {
  return guarded(__func__, [&] {
    trasmuon::Options changed = optimizer_of(optimizer).options(group);
    trasmuon::set_field(changed, &require(field, "field"), &require(value, "value"));
    optimizer->optimizer.set_options(group, std::move(changed));
  });
}

int trasmuon_optimizer_set_number(trasmuon_optimizer* optimizer, size_t group, const char* field, double value) {
  return guarded(__func__, [&] { optimizer_of(optimizer).set(group, &require(field, "field"), value); });
}

int trasmuon_optimizer_parameter_count(const trasmuon_optimizer* optimizer, size_t* count) {
  return guarded(__func__, [&] { require(count, "count") = optimizer_of(optimizer).parameter_count(); });
}

int trasmuon_optimizer_index_of(const trasmuon_optimizer* optimizer, const char* parameter, size_t* index) {
  return guarded(__func__,
                 [&] { require(index, "index") = optimizer_of(optimizer).index_of(&require(parameter, "parameter")); });
}

int trasmuon_optimizer_parameter(const trasmuon_optimizer* optimizer, size_t index, const char** name, size_t* group,
                                 trasmuon_tensor* weight) {
  return guarded(__func__, [&] {
    const trasmuon::Parameter& parameter = optimizer_of(optimizer).parameter(index);
    if (name != nullptr) *name = parameter.name.c_str();
    if (group != nullptr) *group = optimizer->optimizer.group_of(index);
    if (weight != nullptr) *weight = from_view(parameter.weight);
  });
}

int trasmuon_optimizer_rebind_weight(trasmuon_optimizer* optimizer, size_t index, void* data) {
  return guarded(__func__, [&] {
    trasmuon::Optimizer& o = optimizer_of(optimizer);
    if (data == nullptr) throw NullArgument{"data"};
    o.rebind_weight(index, data);
  });
}

int trasmuon_optimizer_refresh_master(trasmuon_optimizer* optimizer, size_t index) {
  return guarded(__func__, [&] { optimizer_of(optimizer).refresh_master(index); });
}

int trasmuon_optimizer_state_count(const trasmuon_optimizer* optimizer, size_t index, size_t* count) {
  return guarded(__func__, [&] { require(count, "count") = optimizer_of(optimizer).state(index).size(); });
}

int trasmuon_optimizer_state(const trasmuon_optimizer* optimizer, size_t index, size_t which, const char** name,
                             trasmuon_tensor* tensor) {
  return guarded(__func__, [&] {
    const auto& state = element(optimizer_of(optimizer).state(index), which, "state index");
    if (name != nullptr) *name = state.spec.name.c_str();
    if (tensor != nullptr) *tensor = from_view(state.view);
  });
}

int trasmuon_optimizer_diagnostics_count(const trasmuon_optimizer* optimizer, size_t index, size_t* count) {
  return guarded(__func__, [&] { require(count, "count") = optimizer_of(optimizer).diagnostics(index).size(); });
}

int trasmuon_optimizer_diagnostics(const trasmuon_optimizer* optimizer, size_t index, size_t matrix,
                                   trasmuon_diagnostics* diagnostics, size_t struct_size) {
  return guarded(__func__, [&] {
    const trasmuon_diagnostics filled =
        to_c(element(optimizer_of(optimizer).diagnostics(index), matrix, "matrix index"));
    require(diagnostics, "diagnostics");
    if (struct_size == 0 || struct_size > kLargestStruct) {
      throw trasmuon::Error("diagnostics: struct_size must be sizeof(trasmuon_diagnostics) = " +
                            std::to_string(sizeof filled) + ", got " + std::to_string(struct_size));
    }
    // Fields that only a newer caller knows are zero.
    std::memset(diagnostics, 0, struct_size);
    std::memcpy(diagnostics, &filled, std::min(struct_size, sizeof filled));
  });
}

int trasmuon_optimizer_warnings(const trasmuon_optimizer* optimizer, const char** text) {
  return guarded(__func__, [&] {
    std::string lines;
    for (const std::string& warning : optimizer_of(optimizer).warnings())
      lines += (lines.empty() ? "" : "\n") + warning;
    require(text, "text") = lend_text(std::move(lines));
  });
}

int trasmuon_optimizer_state_bytes(const trasmuon_optimizer* optimizer, size_t* bytes) {
  return guarded(__func__, [&] { require(bytes, "bytes") = optimizer_of(optimizer).state_bytes(); });
}

int trasmuon_optimizer_workspace_bytes(const trasmuon_optimizer* optimizer, size_t* bytes) {
  return guarded(__func__, [&] { require(bytes, "bytes") = optimizer_of(optimizer).workspace_bytes(); });
}

int trasmuon_optimizer_save(const trasmuon_optimizer* optimizer, const char* path) {
  return guarded(__func__, [&] { trasmuon::save_checkpoint(optimizer_of(optimizer), &require(path, "path")); });
}

int trasmuon_optimizer_load(trasmuon_optimizer* optimizer, const char* path) {
  return guarded(__func__, [&] { trasmuon::load_checkpoint(optimizer_of(optimizer), &require(path, "path")); });
}
