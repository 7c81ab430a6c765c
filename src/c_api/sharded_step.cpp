// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/sharded_step.h"

#include <algorithm>

#include "c_api/convert.h"
#include "c_api/guard.h"
#include "c_api/handles.h"
#include "trasmuon/agreement.h"

using namespace trasmuon::c_api;

namespace trasmuon::c_api {
namespace {

static_assert(TRASMUON_PHASE_MOMENTUM == static_cast<int>(StepPhase::momentum) &&
              TRASMUON_PHASE_PACK == static_cast<int>(StepPhase::pack) &&
              TRASMUON_PHASE_ORTHOGONALIZE == static_cast<int>(StepPhase::orthogonalize) &&
              TRASMUON_PHASE_ROW_SCALE == static_cast<int>(StepPhase::row_scale) &&
              TRASMUON_PHASE_APPLY == static_cast<int>(StepPhase::apply));

template <class Handle>
auto& step_of(Handle* handle) {
  return require(handle, "step").step;
}

template <class T>
std::span<T> array(T* data, std::size_t count, const char* name) {
  require_array(data, count, name);
  return {data, count};
}
std::span<std::byte> bytes(void* data, std::size_t count, const char* name) {
  return array(static_cast<std::byte*>(data), count, name);
}
std::span<const std::byte> bytes(const void* data, std::size_t count, const char* name) {
  return array(static_cast<const std::byte*>(data), count, name);
}

template <class T, class U>
void fill(T* out, const U& value) {
  if (out != nullptr) *out = value;
}
template <class T>
void fill_array(T* out, const std::vector<T>& values) {
  if (out != nullptr) std::copy(values.begin(), values.end(), out);
}

}  // namespace
}  // namespace trasmuon::c_api

int trasmuon_sharded_step_create(trasmuon_optimizer* optimizer, int rank, int ranks, const int64_t* rows,
                                 size_t row_count, int wire, trasmuon_sharded_step** step) {
  return guarded(__func__, [&] {
    trasmuon_sharded_step*& out = require(step, "step");
    trasmuon::Optimizer& o = require(optimizer, "optimizer").optimizer;
    const auto all = array(rows, row_count, "rows");
    trasmuon::ShardedStepOptions options{rank, ranks, std::vector<std::int64_t>(all.begin(), all.end())};
    options.wire = to_enum(wire, trasmuon::DType::i64, "wire");
    out = new trasmuon_sharded_step{trasmuon::ShardedStep(o, std::move(options)), {}};
  });
}

void trasmuon_sharded_step_destroy(trasmuon_sharded_step* step) { delete step; }

int trasmuon_sharded_step_sizes(const trasmuon_sharded_step* step, size_t* sums, size_t* norms, size_t* to_owners,
                                size_t* from_holders, size_t* to_holders, size_t* from_owners) {
  return guarded(__func__, [&] {
    const trasmuon::ExchangeSizes& sizes = step_of(step).sizes();
    fill(sums, sizes.sums);
    fill(norms, sizes.norms);
    fill_array(to_owners, sizes.to_owners);
    fill_array(from_holders, sizes.from_holders);
    fill_array(to_holders, sizes.to_holders);
    fill_array(from_owners, sizes.from_owners);
  });
}

int trasmuon_sharded_step_ownership(const trasmuon_sharded_step* step, size_t* count, int* owners, double* balance,
                                    int* idle) {
  return guarded(__func__, [&] {
    const trasmuon::Ownership& plan = step_of(step).ownership();
    fill(count, plan.owners.size());
    fill_array(owners, plan.owners);
    fill(balance, plan.balance);
    fill(idle, plan.idle);
  });
}

int trasmuon_sharded_step_momentum(trasmuon_sharded_step* step, const trasmuon_tensor* gradients, size_t count,
                                   double* sums, size_t sum_count, void* stream) {
  return guarded(__func__, [&] {
    trasmuon_sharded_step& s = require(step, "step");
    s.step.momentum(to_gradients(gradients, count, s.gradients), array(sums, sum_count, "sums"), stream);
  });
}

int trasmuon_sharded_step_pack(trasmuon_sharded_step* step, double* sums, size_t sum_count, void* rows,
                               size_t row_bytes, void* stream) {
  return guarded(__func__,
                 [&] { step_of(step).pack(array(sums, sum_count, "sums"), bytes(rows, row_bytes, "rows"), stream); });
}

int trasmuon_sharded_step_orthogonalize(trasmuon_sharded_step* step, const void* gathered, size_t gathered_bytes,
                                        void* directions, size_t direction_bytes, void* stream) {
  return guarded(__func__, [&] {
    step_of(step).orthogonalize(bytes(gathered, gathered_bytes, "gathered"),
                                bytes(directions, direction_bytes, "directions"), stream);
  });
}

int trasmuon_sharded_step_row_scale(trasmuon_sharded_step* step, const void* returned, size_t returned_bytes,
                                    double* norms, size_t norm_count, void* stream) {
  return guarded(__func__, [&] {
    step_of(step).row_scale(bytes(returned, returned_bytes, "returned"), array(norms, norm_count, "norms"), stream);
  });
}

int trasmuon_sharded_step_apply(trasmuon_sharded_step* step, double* norms, size_t norm_count, void* stream) {
  return guarded(__func__, [&] { step_of(step).apply(array(norms, norm_count, "norms"), stream); });
}

int trasmuon_sharded_step_phase(const trasmuon_sharded_step* step, int* phase, int64_t* applied) {
  return guarded(__func__, [&] {
    fill(phase, static_cast<int>(step_of(step).phase()));
    fill(applied, step_of(step).applied());
  });
}

int trasmuon_sharded_step_cancel(trasmuon_sharded_step* step) {
  return guarded(__func__, [&] { step_of(step).cancel(); });
}

int trasmuon_assign_owners(const double* costs, size_t count, int ranks, int* owners, double* balance, int* idle) {
  return guarded(__func__, [&] {
    require_array(owners, count, "owners");
    const trasmuon::Ownership plan = trasmuon::assign_owners(array(costs, count, "costs"), ranks);
    fill_array(owners, plan.owners);
    fill(balance, plan.balance);
    fill(idle, plan.idle);
  });
}

int trasmuon_iteration_cost(int64_t m, int64_t n, int steps, double* cost) {
  return guarded(__func__, [&] { require(cost, "cost") = trasmuon::iteration_cost(m, n, steps); });
}

int trasmuon_optimizer_describe_table(const trasmuon_optimizer* optimizer, const char** text) {
  return guarded(__func__, [&] {
    const char*& out = require(text, "text");
    out = lend_text(trasmuon::describe_table(require(optimizer, "optimizer").optimizer));
  });
}

int trasmuon_fingerprint(const char* description, uint64_t* hash) {
  return guarded(__func__,
                 [&] { require(hash, "hash") = trasmuon::fingerprint(&require(description, "description")); });
}

int trasmuon_first_difference(const char* one, const char* other, const char** text) {
  return guarded(__func__, [&] {
    const char*& out = require(text, "text");
    out = lend_text(trasmuon::first_difference(&require(one, "one"), &require(other, "other")));
  });
}
