// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "trasmuon/error.h"
#include "trasmuon/libtorch/process_group.h"

namespace trasmuon::libtorch::detail {

/// Returns what an exception says, without the stack that torch appends.
inline std::string reason_of(const std::exception& failure) {
  const auto* from_torch = dynamic_cast<const c10::Error*>(&failure);
  std::string text = from_torch != nullptr ? from_torch->what_without_backtrace() : failure.what();
  return text.substr(0, text.find('\n'));
}

/// The ranks of a c10d group, and the exchanges between them. Every rank makes the same exchanges in the same order. An
/// exchange that fails throws Error with the task, the exchange, this rank, c10d's reason, and the ranks that are
/// missing.
class Ranks {
 public:
  /// An exchange that has begun. Holds the tensors that c10d reads and writes.
  struct Exchange {
    c10::intrusive_ptr<c10d::Work> work;
    std::string name;
  };

  /// With a store, ranks that fail leave word there and wait up to `patience` for the word of the others.
  Ranks(c10::intrusive_ptr<c10d::ProcessGroup> group, c10::intrusive_ptr<c10d::Store> store,
        std::chrono::milliseconds patience)
      : group_(std::move(group)), store_(std::move(store)), patience_(patience) {
    if (!group_) throw Error("distributed: group must not be null");
  }

  int rank() const { return group_->getRank(); }
  int count() const { return group_->getSize(); }

  /// Names what the following exchanges are for ("step 7"). The name is part of the keys in the store.
  void begin(std::string task) { task_ = std::move(task); }
  const std::string& task() const { return task_; }

  Exchange start_broadcast(const torch::Tensor& tensor, int from, std::string name) {
    return start(std::move(name), [&] {
      c10d::BroadcastOptions options;
      options.rootRank = from;
      std::vector<at::Tensor> tensors{tensor};
      return group_->broadcast(tensors, options);
    });
  }

  void broadcast(const torch::Tensor& tensor, int from, std::string name) {
    wait(start_broadcast(tensor, from, std::move(name)));
  }

  /// Sums over all ranks; all get the same bits.
  void all_reduce(const torch::Tensor& tensor, std::string name) {
    wait(start(std::move(name), [&] {
      std::vector<at::Tensor> tensors{tensor};
      return group_->allreduce(tensors);
    }));
  }

  /// Sends sent_sizes[r] bytes to rank r and receives received_sizes[r] from it, each in the order of the ranks.
  void all_to_all(const torch::Tensor& sent, const std::vector<std::size_t>& sent_sizes, const torch::Tensor& received,
                  const std::vector<std::size_t>& received_sizes, std::string name) {
    wait(start(std::move(name), [&] {
      torch::Tensor output = received, input = sent;
      std::vector<std::int64_t> output_sizes(received_sizes.begin(), received_sizes.end());
      std::vector<std::int64_t> input_sizes(sent_sizes.begin(), sent_sizes.end());
      return all_to_all_bytes(*group_, output, input, output_sizes, input_sizes);
    }));
  }

  void wait(const Exchange& exchange) {
    try {
      if (exchange.work) exchange.work->wait();
    } catch (const std::exception& failure) {
      fail(exchange.name, failure);
    }
  }

 private:
  template <class Begin>
  Exchange start(std::string name, Begin&& begin) {
    try {
      return {begin(), name};
    } catch (const std::exception& failure) {
      fail(name, failure);
    }
  }

  [[noreturn]] void fail(const std::string& exchange, const std::exception& failure) {
    throw Error(task_ + ": " + exchange + " failed on rank " + std::to_string(rank()) + " of " +
                std::to_string(count()) + ": " + reason_of(failure) + missing_ranks());
  }

  /// Leaves word in the store, waits for that of the others, and names those who do not answer.
  std::string missing_ranks() {
    if (!store_) return "";
    const auto key = [&](int r) { return "trasmuon: " + task_ + " failed on rank " + std::to_string(r); };
    std::string missing;
    try {
      const auto end = std::chrono::steady_clock::now() + patience_;
      store_->set(key(rank()), std::vector<std::uint8_t>{1});
      for (int r = 0; r < count(); ++r) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (!answers(key(r), std::max(left, std::chrono::milliseconds(kLeastWait)))) missing += " " + std::to_string(r);
      }
    } catch (const std::exception& failure) {
      return "; the store does not answer, so the rank that serves it may be gone (" + reason_of(failure) + ")";
    }
    if (missing.empty()) return "; all ranks are alive";
    return "; no answer within " + std::to_string(patience_.count()) + " ms from rank" + missing;
  }

  bool answers(const std::string& key, std::chrono::milliseconds timeout) {
    try {
      store_->wait({key}, timeout);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  static constexpr int kLeastWait = 100;  // ms: for a key that is there but must be fetched

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::chrono::milliseconds patience_;
  std::string task_ = "start";
};

}  // namespace trasmuon::libtorch::detail
