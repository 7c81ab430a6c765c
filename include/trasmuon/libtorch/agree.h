// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "trasmuon/agreement.h"
#include "trasmuon/error.h"
#include "trasmuon/libtorch/ranks.h"

namespace trasmuon::libtorch::detail {

/// Sends a text from one rank to all. `size` is the same on all ranks.
inline std::string share_text(Ranks& ranks, torch::Device device, const std::string& text, std::int64_t size,
                              int from) {
  if (size == 0) return "";
  torch::Tensor bytes = torch::zeros({size}, torch::kUInt8);
  if (ranks.rank() == from) std::memcpy(bytes.data_ptr(), text.data(), static_cast<std::size_t>(size));
  bytes = bytes.to(device);
  ranks.broadcast(bytes, from, "broadcast of a description from rank " + std::to_string(from));
  bytes = bytes.cpu();
  return {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(size)};
}

/// Runs `work` on every rank, which returns a text that must be the same on all. If it throws on one, all throw: nobody
/// is left waiting. If the texts differ, throws Error with the first line that differs and the two ranks.
template <class Work>
void together(Ranks& ranks, torch::Device device, Work&& work) {
  std::string text;
  std::exception_ptr failure;
  try {
    text = work();
  } catch (const std::exception& error) {
    failure = std::current_exception();
    text = reason_of(error);
  }
  // One row per rank: failed, size and hash of the text. The sum over ranks gathers the rows.
  torch::Tensor table = torch::zeros({ranks.count(), 3}, torch::kInt64);
  const auto row = table[ranks.rank()];
  row[0] = failure ? 1 : 0;
  row[1] = static_cast<std::int64_t>(text.size());
  row[2] = static_cast<std::int64_t>(fingerprint(text));
  table = table.to(device);
  ranks.all_reduce(table, "comparison of the ranks");
  table = table.cpu();
  const auto at = [&](int rank, int column) { return table[rank][column].item<std::int64_t>(); };

  for (int r = 0; r < ranks.count(); ++r) {
    if (at(r, 0) == 0) continue;
    const std::string reason = share_text(ranks, device, text, at(r, 1), r);
    if (failure) std::rethrow_exception(failure);
    throw Error(ranks.task() + ": rank " + std::to_string(r) + ": " + reason);
  }
  for (int r = 1; r < ranks.count(); ++r) {
    if (at(r, 2) == at(0, 2)) continue;
    const std::string first = share_text(ranks, device, text, at(0, 1), 0);
    const std::string other = share_text(ranks, device, text, at(r, 1), r);
    throw Error(ranks.task() + ": ranks 0 and " + std::to_string(r) + " must agree, got in " +
                first_difference(first, other));
  }
}

}  // namespace trasmuon::libtorch::detail
