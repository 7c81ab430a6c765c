// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace trasmuon::lab {

/// Makes items 0, 1, 2, ... in threads ahead of their use: images that are decoded, batches. Items come in order and do
/// not depend on the number of threads, if `make` depends on the position only.
template <class Item>
class Prefetch {
 public:
  /// Keeps at most `ahead` >= 1 items that are made or in the making. `make` is called by several threads at once.
  Prefetch(int threads, int ahead, std::function<Item(std::int64_t)> make) : ahead_(ahead), make_(std::move(make)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;
  ~Prefetch() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Returns make(position), or throws what it threw. The following positions are made meanwhile; a position that does
  /// not follow the last one starts afresh there.
  Item get(std::int64_t position) {
    std::unique_lock lock(mutex_);
    if (position != first_) {
      ++generation_;
      made_.clear();
      first_ = next_ = position;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return made_.contains(position); });
    Made made = std::move(made_.extract(position).mapped());
    ++first_;
    changed_.notify_all();
    lock.unlock();
    if (made.error) std::rethrow_exception(made.error);
    return std::move(*made.item);
  }

 private:
  struct Made {
    std::optional<Item> item;
    std::exception_ptr error;
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || (next_ >= 0 && next_ < first_ + ahead_); });
      if (ending_) return;
      const std::int64_t position = next_++, generation = generation_;
      lock.unlock();
      Made made;
      try {
        made.item.emplace(make_(position));
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      if (generation != generation_) continue;  // nobody waits for it any more
      made_.emplace(position, std::move(made));
      changed_.notify_all();
    }
  }

  const int ahead_;
  const std::function<Item(std::int64_t)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Made> made_;
  std::int64_t first_ = -1, next_ = -1;  // the position that get() expects; the next one to be made; -1: not begun
  std::int64_t generation_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace trasmuon::lab
