// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "trasmuon/error.h"
#include "trasmuon/libtorch/failure_reports.h"
#include "trasmuon/libtorch/process_group.h"

namespace trasmuon::libtorch::detail {

/// The ranks of a c10d group, and the exchanges between them. Every rank makes the same exchanges in the same order. An
/// exchange that fails throws Error with the task, the exchange, this rank, c10d's reason, and with a store also the
/// ranks that do not answer, or the one that came last.
class Ranks {
 public:
  using Clock = std::chrono::steady_clock;

  /// An exchange that has begun. `work` keeps the tensors alive that c10d reads and writes.
  struct Exchange {
    WorkPointer work;
    std::string name;
    Clock::time_point begun;
  };

  /// With a store, a rank that fails writes a report there and waits up to `patience` for those of the other ranks.
  Ranks(Collectives collectives, c10::intrusive_ptr<c10d::Store> store, std::chrono::milliseconds patience)
      : collectives_(std::move(collectives)), store_(std::move(store)), patience_(patience) {}

  int rank() const { return collectives_.rank; }
  int count() const { return collectives_.ranks; }

  /// Names what the following exchanges are for ("step 7").
  void begin(std::string task) { task_ = std::move(task); }
  const std::string& task() const { return task_; }
  /// Names all tasks from now on in the store, the same on all ranks. Older entries are ignored.
  void set_name(std::int64_t name) { name_ = std::to_string(name); }

  Exchange start_broadcast(const torch::Tensor& tensor, int from, std::string name) {
    return start(std::move(name), [&] { return collectives_.broadcast(tensor, from); });
  }

  void broadcast(const torch::Tensor& tensor, int from, std::string name) {
    wait(start_broadcast(tensor, from, std::move(name)));
  }

  /// Sums over all ranks; all get the same bits.
  void all_reduce(const torch::Tensor& tensor, std::string name) {
    wait(start(std::move(name), [&] { return collectives_.all_reduce(tensor); }));
  }

  /// Sends sent_sizes[r] bytes to rank r and receives received_sizes[r] from it, each in the order of the ranks.
  void all_to_all(const torch::Tensor& sent, const std::vector<std::size_t>& sent_sizes, const torch::Tensor& received,
                  const std::vector<std::size_t>& received_sizes, std::string name) {
    wait(start(std::move(name), [&] {
      return collectives_.all_to_all(received, sent, {received_sizes.begin(), received_sizes.end()},
                                     {sent_sizes.begin(), sent_sizes.end()});
    }));
  }

  void wait(const Exchange& exchange) {
    try {
      if (exchange.work) exchange.work->wait();
    } catch (const std::exception& failure) {
      fail(exchange.name, exchange.begun, failure);
    }
  }

 private:
  template <class Begin>
  Exchange start(std::string name, Begin&& begin) {
    try {
      WorkPointer work = begin();
      return {std::move(work), std::move(name), Clock::now()};
    } catch (const std::exception& failure) {
      fail(name, Clock::now(), failure);
    }
  }

  [[noreturn]] void fail(const std::string& exchange, Clock::time_point begun, const std::exception& failure) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
    throw Error(task_ + ": " + exchange + " failed on rank " + std::to_string(rank()) + " of " +
                std::to_string(count()) + ": " + reason_of(failure) + report_of_others(waited.count()));
  }

  std::string key_of(int r) const { return "trasmuon " + name_ + " " + task_ + " failed on rank " + std::to_string(r); }

  std::string report_of_others(std::int64_t waited) const {
    if (!store_) return "";
    std::vector<std::string> keys;
    for (int r = 0; r < count(); ++r) keys.push_back(key_of(r));
    return exchange_reports({store_, std::move(keys), rank(), waited, patience_});
  }

  Collectives collectives_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::chrono::milliseconds patience_;
  std::string task_ = "start", name_ = "0";
};

}  // namespace trasmuon::libtorch::detail
