// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/sharded_step.h"

#include <numeric>
#include <string>
#include <utility>

#include "optim/exchange_plan.h"
#include "optim/run_lists.h"
#include "stages/arena.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

/// Returns the field that decides what travels and differs between two plans, or null. The rule cannot change, nor
/// Dion's rank.
const char* changed_exchange(const Plan& old_plan, const Plan& new_plan) {
  const auto *before = std::get_if<MuonPipeline>(&old_plan), *after = std::get_if<MuonPipeline>(&new_plan);
  if (before == nullptr || after == nullptr) return nullptr;
  if (before->orthogonalize.has_value() != after->orthogonalize.has_value()) return "orthogonalize";
  return watches_direction(*before) != watches_direction(*after) ? "energy_of" : nullptr;
}

std::size_t total(const std::vector<std::size_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

void check_size(const char* call, const char* buffer, const char* unit, std::size_t expected, std::size_t got) {
  if (got == expected) return;
  throw Error(std::string("sharded step: ") + call + ": " + buffer + " must have " + std::to_string(expected) + " " +
              unit + ", got " + std::to_string(got));
}

}  // namespace

std::size_t ExchangeSizes::rows() const { return total(to_owners); }
std::size_t ExchangeSizes::gathered() const { return total(from_holders); }
std::size_t ExchangeSizes::directions() const { return total(to_holders); }
std::size_t ExchangeSizes::returned() const { return total(from_owners); }

const char* to_string(StepPhase phase) {
  switch (phase) {
    case StepPhase::momentum: return "momentum";
    case StepPhase::pack: return "pack";
    case StepPhase::orthogonalize: return "orthogonalize";
    case StepPhase::row_scale: return "row_scale";
    case StepPhase::apply: return "apply";
  }
  return "";
}

struct ShardedStep::Impl {
  ParameterTable& table;
  int ranks;
  std::vector<Plan> plans;  ///< of the step under way; before the first one, those of the options then
  ExchangePlan exchange;
  CutStep step;
  Backend& backend;
  std::unique_ptr<void, ReleaseMemory> memory;
  StepPhase phase = StepPhase::momentum;
  std::int64_t applied = 0;

  Impl(ParameterTable& t, const ShardedStepOptions& options)
      : table((check_sharding(t, options), t)),
        ranks(options.ranks),
        plans(plans_of(t)),
        exchange(plan_exchange(t, options, plans)),
        backend(t.backend(exchange.device)),
        memory(nullptr, ReleaseMemory{&backend}) {
    step.matrices = std::move(exchange.matrices);
    Arena counter;
    lay_out(counter);
    if (counter.used() == 0) return;
    memory.reset(backend.allocate(counter.used()));
    Arena arena(static_cast<std::byte*>(memory.get()));
    lay_out(arena);
  }
  ~Impl() { cancel(); }

  void lay_out(Arena& arena) {
    for (CutMatrix& x : step.matrices) {
      if (x.dion != nullptr) continue;
      const std::size_t bytes = static_cast<std::size_t>(x.rows->m) * size_of(x.rows->compute);
      x.v_next = arena.take_bytes(bytes);
      x.row_factor = arena.take_bytes(bytes);
    }
  }

  void expect(StepPhase called) const {
    if (called == phase) return;
    throw Error(std::string("sharded step: ") + to_string(called) + " was called, but " + to_string(phase) +
                " is next" + (phase == StepPhase::momentum ? "" : "; cancel gives up the step"));
  }

  void begin(std::span<const TensorView> gradients, void* stream) {
    if (table.in_sharded_step) throw Error("sharded step: another step of this optimizer is under way");
    std::vector<Plan> next = plans_of(table);
    for (const std::size_t g : exchange.groups) {
      const char* field = changed_exchange(plans[g], next[g]);
      if (field == nullptr) continue;
      throw Error("sharded step: group " + std::to_string(g) + "'s " + field +
                  " cannot change after construction: it decides what travels");
    }
    table.bind_gradients(gradients);
    plans = std::move(next);
    for (std::size_t i = 0; i < step.matrices.size(); ++i) set_plan(plans[exchange.groups[i]], step.matrices[i]);
    run_whole(&Backend::prepare, stream);
    if (!step.matrices.empty()) backend.prepare_cut(step, stream);
  }

  /// What needs no exchange. On one rank that is everything.
  void run_whole(BackendAction action, void* stream) {
    const std::vector<void*> streams = streams_of(table, stream);
    run_lists(table, &GroupEntry::matrices, action, plans, streams);
    if (ranks == 1) run_lists(table, &GroupEntry::cut, action, plans, streams);
  }

  void run(StepPhase called, StepPhase next, void* stream) {
    if (!step.matrices.empty()) backend.run_cut(called, step, stream);
    phase = next;
  }

  void cancel() {
    if (phase == StepPhase::momentum) return;
    phase = StepPhase::momentum;
    table.in_sharded_step = false;
  }
};

ShardedStep::ShardedStep(Optimizer& optimizer, ShardedStepOptions options)
    : impl_(std::make_unique<Impl>(*optimizer.table_, options)) {}
ShardedStep::ShardedStep(ShardedStep&&) noexcept = default;
ShardedStep& ShardedStep::operator=(ShardedStep&&) noexcept = default;
ShardedStep::~ShardedStep() = default;

const ExchangeSizes& ShardedStep::sizes() const { return impl_->exchange.sizes; }
const Ownership& ShardedStep::ownership() const { return impl_->exchange.ownership; }

void ShardedStep::momentum(std::span<const TensorView> gradients, std::span<double> sums, void* stream) {
  impl_->expect(StepPhase::momentum);
  check_size("momentum", "sums", "doubles", sizes().sums, sums.size());
  impl_->begin(gradients, stream);
  impl_->step.buffers = {};
  impl_->step.buffers.sums = sums.data();
  impl_->run(StepPhase::momentum, StepPhase::pack, stream);
  impl_->table.in_sharded_step = true;
}

void ShardedStep::pack(std::span<double> sums, std::span<std::byte> rows, void* stream) {
  impl_->expect(StepPhase::pack);
  check_size("pack", "sums", "doubles", sizes().sums, sums.size());
  check_size("pack", "rows", "bytes", sizes().rows(), rows.size());
  impl_->step.buffers.sums = sums.data();
  impl_->step.buffers.rows = rows.data();
  impl_->run(StepPhase::pack, StepPhase::orthogonalize, stream);
}

void ShardedStep::orthogonalize(std::span<const std::byte> gathered, std::span<std::byte> directions, void* stream) {
  impl_->expect(StepPhase::orthogonalize);
  check_size("orthogonalize", "gathered", "bytes", sizes().gathered(), gathered.size());
  check_size("orthogonalize", "directions", "bytes", sizes().directions(), directions.size());
  impl_->step.buffers.gathered = gathered.data();
  impl_->step.buffers.directions = directions.data();
  impl_->run(StepPhase::orthogonalize, StepPhase::row_scale, stream);
}

void ShardedStep::row_scale(std::span<const std::byte> returned, std::span<double> norms, void* stream) {
  impl_->expect(StepPhase::row_scale);
  check_size("row_scale", "returned", "bytes", sizes().returned(), returned.size());
  check_size("row_scale", "norms", "doubles", sizes().norms, norms.size());
  impl_->step.buffers.returned = returned.data();
  impl_->step.buffers.norms = norms.data();
  impl_->run(StepPhase::row_scale, StepPhase::apply, stream);
}

void ShardedStep::apply(std::span<double> norms, void* stream) {
  impl_->expect(StepPhase::apply);
  check_size("apply", "norms", "doubles", sizes().norms, norms.size());
  impl_->step.buffers.norms = norms.data();
  // The list of whole matrices first: GPUs work on it while the CPU goes on.
  impl_->run_whole(&Backend::run, stream);
  impl_->run(StepPhase::apply, StepPhase::momentum, stream);
  impl_->table.in_sharded_step = false;
  ++impl_->applied;
}

StepPhase ShardedStep::phase() const { return impl_->phase; }
std::int64_t ShardedStep::applied() const { return impl_->applied; }
void ShardedStep::cancel() { impl_->cancel(); }

}  // namespace trasmuon
