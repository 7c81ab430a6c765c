// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trasmuon/export.h"
#include "trasmuon/optimizer.h"
#include "trasmuon/ownership.h"

namespace trasmuon {

/// What every rank must know about the others.
struct ShardedStepOptions {
  int rank = 0;
  int ranks = 1;
  /// Rows of every parameter on every rank, weight.shape[0] of its Parameter: entry r * parameters + p. Ranks hold
  /// consecutive rows in the order of their numbers. Entries of parameters without a shard are ignored.
  std::vector<std::int64_t> rows = {};
  /// Type in which rows travel to their owner and back: f32, bf16 or f16. Rows of f64 weights always travel as f64, and
  /// Dion's in the compute type.
  DType wire = DType::f32;
};

/// Sizes of the buffers between the phases. All ranks have the same `sums` and `norms`.
struct TRASMUON_API ExchangeSizes {
  std::size_t sums = 0;   ///< doubles
  std::size_t norms = 0;  ///< doubles
  // Bytes that go to each rank or come from it; buffers are packed in the order of the ranks.
  std::vector<std::size_t> to_owners = {};     ///< of `rows`
  std::vector<std::size_t> from_holders = {};  ///< of `gathered`
  std::vector<std::size_t> to_holders = {};    ///< of `directions`; differs from from_holders where Dion steps rows
  std::vector<std::size_t> from_owners = {};   ///< of `returned`; differs from to_owners likewise
  std::size_t rows() const;                    ///< sum of to_owners
  std::size_t gathered() const;                ///< sum of from_holders
  std::size_t directions() const;              ///< sum of to_holders
  std::size_t returned() const;                ///< sum of from_owners
};

/// The call that a ShardedStep expects next.
enum class StepPhase : std::uint8_t { momentum, pack, orthogonalize, row_scale, apply };
TRASMUON_API const char* to_string(StepPhase phase);

/// A step of an optimizer whose parameters are sharded by rows over ranks, in five calls. Between them the caller moves
/// buffers: this library opens no connection.
///
///     step.momentum(gradients, sums);              all-reduce (sum) of `sums`
///     step.pack(sums, rows);                       all-to-all of `rows` into `gathered`
///     step.orthogonalize(gathered, directions);    all-to-all of `directions` back into `returned`
///     step.row_scale(returned, norms);             all-reduce (sum) of `norms`
///     step.apply(norms);
///
/// Every rank makes every call and takes part in every exchange, also where it holds no rows or owns nothing. An
/// all-reduce must give all ranks the same bits, as NCCL's, Gloo's and MPI's do.
///
/// Weights and state are those before the step until apply() writes them; a call that throws Error or std::bad_alloc
/// has changed nothing but buffers. All memory is taken in momentum(), so that apply() does not fail on the CPU.
/// Gradients and buffers stay lent until apply() has run (on its stream) or cancel() was called.
///
/// Parameters without a shard, batches of matrices sharded along the batch and AdamW need no exchange; apply() steps
/// them. The others are cut: each matrix is orthogonalized once, by its owner.
class TRASMUON_API ShardedStep {
 public:
  /// `optimizer` must outlive it, and all cut parameters must be on one device. Throws Error if a parameter or its rows
  /// do not fit; all ranks that were given the same options throw the same.
  ShardedStep(Optimizer& optimizer, ShardedStepOptions options);
  ShardedStep(ShardedStep&&) noexcept;
  ShardedStep& operator=(ShardedStep&&) noexcept;
  ~ShardedStep();

  const ExchangeSizes& sizes() const;
  /// Who orthogonalizes which cut matrix: parameters in their order, row blocks in theirs. The load is the cost of the
  /// iteration; ranks that own nothing are idle while the owners compute.
  const Ownership& ownership() const;

  /// Buffers are in the memory of the cut parameters' device, of exactly the sizes above, and aligned for doubles.
  /// `stream` is the stream of that device, as in Optimizer::step.
  void momentum(std::span<const TensorView> gradients, std::span<double> sums, void* stream = nullptr);
  void pack(std::span<double> sums, std::span<std::byte> rows, void* stream = nullptr);
  void orthogonalize(std::span<const std::byte> gathered, std::span<std::byte> directions, void* stream = nullptr);
  void row_scale(std::span<const std::byte> returned, std::span<double> norms, void* stream = nullptr);
  void apply(std::span<double> norms, void* stream = nullptr);

  StepPhase phase() const;       ///< the call that is expected next; momentum: no step is under way
  std::int64_t applied() const;  ///< number of steps applied: tells whether a failure came before or after the step
  /// Gives up a step that has begun; weights and state are those before it. May be called at any time.
  void cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trasmuon
