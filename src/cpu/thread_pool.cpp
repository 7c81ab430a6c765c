// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>

#include "trasmuon/error.h"

namespace trasmuon::cpu {
namespace {

using Body = void (*)(void*, std::int64_t);

// A step issues hundreds of short parallel regions; waking a sleeping thread costs
// more than many of them, so workers spin this often before they sleep.
constexpr int kSpins = 4000;

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

thread_local bool inside_region = false;

int default_threads() {
  if (const char* text = std::getenv("TRASMUON_NUM_THREADS")) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > kMaxThreads) {
      throw Error("TRASMUON_NUM_THREADS must be in [1, " + std::to_string(kMaxThreads) + "], got '" + text + "'");
    }
    return static_cast<int>(value);
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
}

// Unlike std::mutex, constant-initialized and without a destructor everywhere.
class Mutex {
 public:
  void lock() { pthread_mutex_lock(&handle_); }
  bool try_lock() { return pthread_mutex_trylock(&handle_) == 0; }
  void unlock() { pthread_mutex_unlock(&handle_); }
  void wait(pthread_cond_t& condition) { pthread_cond_wait(&condition, &handle_); }

 private:
  pthread_mutex_t handle_ = PTHREAD_MUTEX_INITIALIZER;
};

/// One call of parallel_for, on the stack of its caller.
struct Region {
  const std::int64_t count;
  const Body body;
  void* const context;
  std::atomic<std::int64_t> next{0};
  std::exception_ptr error;
};

/// The pool of the process. Constant-initialized, so there is no moment at which a fork finds it half built; without a
/// destructor, because exit() must not wait for threads that may themselves be in a step; and without memory of its
/// own, so that only creating a thread can fail and a child of fork can start anew without freeing anything.
class ThreadPool {
 public:
  constexpr ThreadPool() = default;

  int threads() {
    int threads = threads_;
    if (threads == 0) {
      const int chosen = default_threads();
      if (threads_.compare_exchange_strong(threads, chosen)) threads = chosen;
    }
    return threads;
  }

  void set_threads(int threads) {
    const std::lock_guard lock(region_mutex_);
    // A pool that could not start all its threads tries again.
    if (started_ && threads != workers_ + 1) stop();
    threads_ = threads;
  }

  /// False, without having done anything, while another thread's region runs.
  bool try_run(Region& region) {
    const std::unique_lock lock(region_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    if (!started_) start();
    open(region);
    work(region);
    close();
    if (region.error) std::rethrow_exception(region.error);
    return true;
  }

  /// In a child of fork: none of the workers exists, and a thread that is gone may hold any of the locks.
  static void renew_in_child();

 private:
  /// On failure there are fewer workers, which gives the same results.
  void start();

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ++generation_;
    }
    pthread_cond_broadcast(&wake_);
    for (int i = 0; i < workers_; ++i) pthread_join(handles_[i], nullptr);
    workers_ = 0;
    started_ = stopping_ = false;
  }

  void open(Region& region) {
    {
      const std::lock_guard lock(mutex_);
      region_ = &region;
      ++generation_;
    }
    pthread_cond_broadcast(&wake_);
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      region_ = nullptr;  // workers that wake from here on find nothing to join
    }
    for (int spin = 0; active_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) pause_cpu();
      else std::this_thread::yield();  // the worker may be waiting for this core
    }
  }

  void serve() {
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spin) pause_cpu();
      Region* region = nullptr;
      {
        const std::lock_guard lock(mutex_);
        while (generation_.load(std::memory_order_relaxed) == seen) mutex_.wait(wake_);
        seen = generation_.load(std::memory_order_relaxed);
        if (stopping_) return;
        region = region_;
        if (region == nullptr) continue;
        active_.fetch_add(1, std::memory_order_relaxed);
      }
      work(*region);
      active_.fetch_sub(1, std::memory_order_release);
    }
  }

  void work(Region& region) {
    inside_region = true;
    try {
      for (;;) {
        const std::int64_t index = region.next.fetch_add(1, std::memory_order_relaxed);
        if (index >= region.count) break;
        region.body(region.context, index);
      }
    } catch (...) {
      region.next.store(region.count, std::memory_order_relaxed);
      const std::lock_guard lock(mutex_);
      if (!region.error) region.error = std::current_exception();
    }
    inside_region = false;
  }

  Mutex region_mutex_;           // held while a region runs or the workers change
  std::atomic<int> threads_{0};  // as set; 0: the default, not read yet
  bool started_ = false;
  int workers_ = 0;

  Mutex mutex_;  // guards what follows
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<int> active_{0};
  Region* region_ = nullptr;
  bool stopping_ = false;

  pthread_t handles_[kMaxThreads - 1] = {};
};
static_assert(std::is_trivially_destructible_v<ThreadPool>);

constinit ThreadPool pool;

void ThreadPool::renew_in_child() {
  const int threads = pool.threads_;
  new (&pool) ThreadPool;
  pool.threads_ = threads;
}

const bool fork_is_handled = pthread_atfork(nullptr, nullptr, &ThreadPool::renew_in_child) == 0;

void ThreadPool::start() {
  if (!fork_is_handled) return;  // out of memory; workers would leave a child of fork without a usable pool
  started_ = true;
  const auto entry = [](void*) -> void* {
    pool.serve();
    return nullptr;
  };
  for (; workers_ + 1 < threads_; ++workers_) {
    if (pthread_create(&handles_[workers_], nullptr, entry, nullptr) != 0) return;
  }
}

}  // namespace

void parallel_for(std::int64_t count, Body body, void* context) {
  if (count <= 0) return;
  if (count > 1 && !inside_region && pool.threads() > 1) {
    Region region{count, body, context};
    if (pool.try_run(region)) return;
  }
  for (std::int64_t index = 0; index < count; ++index) body(context, index);
}

void set_pool_threads(int threads) { pool.set_threads(threads); }

int pool_threads() { return pool.threads(); }

}  // namespace trasmuon::cpu
