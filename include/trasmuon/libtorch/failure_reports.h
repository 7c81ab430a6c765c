// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Exception.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

namespace trasmuon::libtorch::detail {

/// Returns what an exception says, without the stack that torch appends.
inline std::string reason_of(const std::exception& failure) {
  const auto* from_torch = dynamic_cast<const c10::Error*>(&failure);
  std::string text = from_torch != nullptr ? from_torch->what_without_backtrace() : failure.what();
  return text.substr(0, text.find('\n'));
}

/// What the ranks write to the store when an exchange has failed: how long each had waited for it.
struct FailureReports {
  c10::intrusive_ptr<c10d::Store> store;
  std::vector<std::string> keys;  ///< of all ranks
  int rank = 0;
  std::int64_t waited = 0;  ///< milliseconds
  std::chrono::milliseconds patience;

  /// Writes a report, waits for those of the others, and names the ranks that do not answer; if all do, the one that
  /// has waited least.
  std::string exchange() const {
    using Clock = std::chrono::steady_clock;
    const std::string own = std::to_string(waited);
    store->set(key(rank), std::vector<std::uint8_t>(own.begin(), own.end()));
    // Asks again and again: the wait of a TCPStore that runs into its timeout leaves the connection unusable.
    const auto end = Clock::now() + patience;
    bool all = store->check(keys);
    for (; !all && Clock::now() < end; all = store->check(keys)) std::this_thread::sleep_for(kPause);
    return all ? last_to_come() : silent_ranks();
  }

 private:
  int count() const { return static_cast<int>(keys.size()); }
  const std::string& key(int r) const { return keys[static_cast<std::size_t>(r)]; }

  std::string silent_ranks() const {
    std::string silent;
    for (int r = 0; r < count(); ++r) {
      if (r != rank && !store->check({key(r)})) silent += " " + std::to_string(r);
    }
    return "; no answer within " + std::to_string(patience.count()) + " ms from rank" + silent;
  }

  std::string last_to_come() const {
    int last = 0;
    std::int64_t least = 0;
    for (int r = 0; r < count(); ++r) {
      const std::vector<std::uint8_t> report = store->get(key(r));
      const std::int64_t time = std::stoll(std::string(report.begin(), report.end()));
      if (r == 0 || time < least) {
        last = r;
        least = time;
      }
    }
    return "; all ranks answer; rank " + std::to_string(last) + " came last: it had waited " + std::to_string(least) +
           " ms, this one " + std::to_string(waited) + " ms";
  }

  static constexpr std::chrono::milliseconds kPause{20};
};

/// Exchanges reports, for little longer than the patience. A store that a stopped rank serves never answers, and its
/// calls know no timeout: the thread that asks it is left alone then.
inline std::string exchange_reports(FailureReports reports) {
  constexpr std::chrono::milliseconds kGrace{1'000};  // for answers that are on their way
  const std::chrono::milliseconds patience = reports.patience;
  std::string reason = "no answer within " + std::to_string(patience.count()) + " ms";
  try {
    auto promise = std::make_shared<std::promise<std::string>>();
    std::future<std::string> answer = promise->get_future();
    std::thread([reports = std::move(reports), promise] {
      try {
        promise->set_value(reports.exchange());
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    }).detach();
    if (answer.wait_for(patience + kGrace) == std::future_status::ready) return answer.get();
  } catch (const std::exception& failure) {
    reason = reason_of(failure);
  }
  return "; the store does not answer, so the rank that serves it may be gone (" + reason + ")";
}

}  // namespace trasmuon::libtorch::detail
