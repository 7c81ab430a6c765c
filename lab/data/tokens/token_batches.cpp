// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/token_batches.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>

namespace trasmuon::lab {
namespace {

std::int64_t checked_count(const TokenStream& stream, const TokenBatchShape& shape) {
  const auto positive = [](const char* name, std::int64_t value) {
    if (value <= 0) throw Error(fmt::format("{} of a token batch must be > 0, got {}", name, value));
  };
  positive("sequences", shape.sequences);
  positive("length", shape.length);
  positive("micro_batches", shape.micro_batches);
  const std::int64_t count = sequence_count(stream, shape.length);
  if (count == 0) {
    throw Error(fmt::format("a sequence of length {} needs {} tokens, the data has {}", shape.length, shape.length + 1,
                            stream.size()));
  }
  return count;
}

}  // namespace

TokenBatches::TokenBatches(const TokenStream& stream, const TokenBatchShape& shape, std::uint64_t seed)
    : stream_(stream), shape_(shape), order_(seed, checked_count(stream, shape)) {}

void TokenBatches::read(std::int64_t step, std::int64_t micro_batch, std::span<std::int64_t> inputs,
                        std::span<std::int64_t> targets) const {
  const auto tokens = static_cast<std::size_t>(shape_.sequences * shape_.length);
  if (step < 0 || micro_batch < 0 || micro_batch >= shape_.micro_batches) {
    throw Error(fmt::format("step must be >= 0 and the micro-batch in [0, {}), got {} and {}", shape_.micro_batches,
                            step, micro_batch));
  }
  if (inputs.size() != tokens || targets.size() != tokens) {
    throw Error(fmt::format("inputs and targets of a micro-batch must have {} tokens, got {} and {}", tokens,
                            inputs.size(), targets.size()));
  }
  const std::int64_t first = (step * shape_.micro_batches + micro_batch) * shape_.sequences;
  const auto length = static_cast<std::size_t>(shape_.length);
  for (std::int64_t i = 0; i < shape_.sequences; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * length;
    read_sequence(stream_, order_[first + i], inputs.subspan(at, length), targets.subspan(at, length));
  }
}

void read_sequence(const TokenStream& stream, std::int64_t number, std::span<std::int64_t> inputs,
                   std::span<std::int64_t> targets) {
  const std::int64_t first = number * static_cast<std::int64_t>(inputs.size());
  stream.read(first, inputs);
  stream.read(first + 1, targets);
}

std::int64_t sequence_count(const TokenStream& stream, std::int64_t length) {
  return std::max<std::int64_t>(stream.size() - 1, 0) / length;
}

}  // namespace trasmuon::lab
