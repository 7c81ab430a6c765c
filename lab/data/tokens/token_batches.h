// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "lab/data/sample_order.h"
#include "lab/data/tokens/token_stream.h"

namespace trasmuon::lab {

struct TokenBatchShape {
  std::int64_t sequences = 8;      ///< of a micro-batch
  std::int64_t length = 1024;      ///< tokens of a sequence
  std::int64_t micro_batches = 1;  ///< of a step, over all ranks
};

/// Training batches of a stream. The stream is cut into sequences; every epoch has each of them once, in random order.
/// A batch is a function of seed, step and micro-batch only, so the step is the whole position in the data.
class TokenBatches {
 public:
  /// Keeps a reference to the stream. Throws Error if a size is not positive or the stream has not one sequence.
  TokenBatches(const TokenStream& stream, const TokenBatchShape& shape, std::uint64_t seed);

  std::int64_t sequences_per_epoch() const { return order_.count(); }
  /// Reads a micro-batch, sequences x length tokens each: a target is the token after its input. Ranks of a group take
  /// different numbers `micro_batch` of [0, micro_batches).
  void read(std::int64_t step, std::int64_t micro_batch, std::span<std::int64_t> inputs,
            std::span<std::int64_t> targets) const;

 private:
  const TokenStream& stream_;
  TokenBatchShape shape_;
  SampleOrder order_;
};

/// Reads sequence `number` of the stream cut into sequences of inputs.size() tokens, for evaluation in order.
void read_sequence(const TokenStream& stream, std::int64_t number, std::span<std::int64_t> inputs,
                   std::span<std::int64_t> targets);

/// The number of sequences of this length; the last target lies in the stream too.
std::int64_t sequence_count(const TokenStream& stream, std::int64_t length);

}  // namespace trasmuon::lab
