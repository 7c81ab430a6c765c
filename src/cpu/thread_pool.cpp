// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_pool.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "trasmuon/error.h"
#include "trasmuon/threads.h"

namespace trasmuon {
namespace cpu {
namespace {

using Body = void (*)(void*, std::int64_t, int);

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

class ThreadPool {
 public:
  explicit ThreadPool(int threads) {
    for (int worker = 1; worker < threads; ++worker) {
      try {
        workers_.emplace_back([this, worker] { serve(worker); });
      } catch (const std::system_error&) {
        return;  // a limit of the machine: fewer threads give the same results
      }
    }
  }

  ~ThreadPool() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      ++generation_;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  void run(std::int64_t count, Body body, void* context) {
    {
      std::lock_guard lock(mutex_);
      body_ = body;
      context_ = context;
      count_ = count;
      next_.store(0, std::memory_order_relaxed);
      error_ = nullptr;
      open_ = true;
      ++generation_;
    }
    wake_.notify_all();
    work(0);
    {
      std::lock_guard lock(mutex_);
      open_ = false;  // workers that wake from here on find nothing to join
    }
    for (int spin = 0; active_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) pause_cpu();
      else std::this_thread::yield();  // the worker may be waiting for this core
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void serve(int worker) {
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spin) pause_cpu();
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
        seen = generation_.load(std::memory_order_relaxed);
        if (stopping_) return;
        if (!open_) continue;
        active_.fetch_add(1, std::memory_order_relaxed);
      }
      work(worker);
      active_.fetch_sub(1, std::memory_order_release);
    }
  }

  void work(int worker) {
    inside_region = true;
    try {
      for (;;) {
        const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= count_) break;
        body_(context_, index, worker);
      }
    } catch (...) {
      next_.store(count_, std::memory_order_relaxed);
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    inside_region = false;
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<int> active_{0};
  std::atomic<std::int64_t> next_{0};
  Body body_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  std::exception_ptr error_;
  bool open_ = false;
  bool stopping_ = false;
};

int default_threads() {
  if (const char* text = std::getenv("TRASMUON_NUM_THREADS")) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > 1024) {
      throw Error(std::string("TRASMUON_NUM_THREADS must be in [1, 1024], got '") + text + "'");
    }
    return static_cast<int>(value);
  }
  const unsigned hardware = std::thread::hardware_concurrency();
  return hardware == 0 ? 1 : static_cast<int>(hardware);
}

struct Shared {
  std::mutex mutex;  // held while a region runs
  std::atomic<int> threads = default_threads();
  ThreadPool* pool = nullptr;

  // Started on first use, and never torn down at exit: a library must not join
  // threads from a static destructor.
  ThreadPool& ready() {
    if (pool == nullptr) pool = new ThreadPool(threads);
    return *pool;
  }
};

Shared& shared() {
  static Shared* instance = new Shared;
  return *instance;
}

}  // namespace

void parallel_for(std::int64_t count, Body body, void* context) {
  if (count <= 0) return;
  std::unique_lock lock(shared().mutex, std::defer_lock);
  if (count == 1 || inside_region || shared().threads == 1 || !lock.try_lock()) {
    for (std::int64_t index = 0; index < count; ++index) body(context, index, 0);
    return;
  }
  shared().ready().run(count, body, context);
}

}  // namespace cpu

void set_num_threads(int threads) {
  if (threads < 1 || threads > 1024) {
    throw Error("trasmuon: threads must be in [1, 1024], got " + std::to_string(threads));
  }
  auto& shared = cpu::shared();
  std::lock_guard lock(shared.mutex);
  if (threads == shared.threads) return;
  delete shared.pool;
  shared.pool = nullptr;
  shared.threads = threads;
}

int num_threads() { return cpu::shared().threads; }

}  // namespace trasmuon
