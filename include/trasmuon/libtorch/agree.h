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

// Ranks that agree before they go on. If one cannot, all throw the reason, and nobody is left waiting.
namespace trasmuon::libtorch::detail {

/// What a rank has to say: a text that must be the same on all ranks, or why it cannot go on.
struct Statement {
  std::string text = {};
  std::exception_ptr failure = {};

  /// Runs `work`, which returns the text or throws.
  template <class Work>
  static Statement of(Work&& work) {
    Statement statement;
    try {
      statement.text = work();
    } catch (const std::exception& error) {
      statement.fail(error);
    }
    return statement;
  }
  /// Notes the exception that is being handled; the first one stays.
  void fail(const std::exception& error) {
    if (failure) return;
    failure = std::current_exception();
    text = reason_of(error);
  }
  void rethrow() const {
    if (failure) std::rethrow_exception(failure);
  }

  /// A number that sums with zeros exactly: a hash of the text, or -1.
  double vote() const {
    constexpr int kSpare = 12;  // a double holds 52 bits
    return failure ? -1.0 : static_cast<double>(fingerprint(text) >> kSpare);
  }
};

/// Sends a text from one rank to all.
inline std::string share_text(Ranks& ranks, torch::Device device, const std::string& text, int from) {
  const std::string name = "broadcast of a description from rank " + std::to_string(from);
  torch::Tensor size = torch::full({1}, static_cast<std::int64_t>(text.size()), torch::kInt64).to(device);
  ranks.broadcast(size, from, name);
  const auto count = size.item<std::int64_t>();
  if (count == 0) return "";
  torch::Tensor bytes = torch::zeros({count}, torch::kUInt8);
  if (ranks.rank() == from) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  bytes = bytes.to(device);
  ranks.broadcast(bytes, from, name);
  bytes = bytes.cpu();
  return {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(count)};
}

/// Throws unless all ranks have made the same statement; `votes` has those of all, the same on every rank. The error
/// has the reason of the first rank that failed, or the first line that differs and the two ranks.
inline void settle(Ranks& ranks, torch::Device device, const Statement& own, const double* votes) {
  for (int r = 0; r < ranks.count(); ++r) {
    if (votes[r] != -1) continue;
    const std::string reason = share_text(ranks, device, own.text, r);
    own.rethrow();
    throw Error(ranks.task() + ": rank " + std::to_string(r) + ": " + reason);
  }
  for (int r = 1; r < ranks.count(); ++r) {
    if (votes[r] == votes[0]) continue;
    const std::string first = share_text(ranks, device, own.text, 0), other = share_text(ranks, device, own.text, r);
    throw Error(ranks.task() + ": ranks 0 and " + std::to_string(r) + " must agree, got in " +
                first_difference(first, other));
  }
}

/// Compares the statements of all ranks; every rank must call it.
inline void settle(Ranks& ranks, torch::Device device, const Statement& own) {
  torch::Tensor votes = torch::zeros({ranks.count()}, torch::kFloat64);
  votes[ranks.rank()] = own.vote();
  votes = votes.to(device);
  ranks.all_reduce(votes, "comparison of the ranks");
  votes = votes.cpu();
  settle(ranks, device, own, votes.data_ptr<double>());
}

/// Runs `work` on every rank, which returns a text that must be the same on all, or throws.
template <class Work>
void together(Ranks& ranks, torch::Device device, Work&& work) {
  settle(ranks, device, Statement::of(std::forward<Work>(work)));
}

}  // namespace trasmuon::libtorch::detail
