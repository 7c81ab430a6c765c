// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/counted_memory.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace trasmuon::test {
namespace {

thread_local std::size_t left = kNever;
thread_local bool failed = false;
std::atomic<std::size_t> live{0}, peak{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (left == 0) {
    left = kNever;
    failed = true;
    throw std::bad_alloc();
  }
  if (left != kNever) --left;
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(alignment, sizeof(void*)), bytes) != 0) throw std::bad_alloc();
  const std::size_t now = live += ::malloc_usable_size(memory);
  std::size_t highest = peak;
  while (highest < now && !peak.compare_exchange_weak(highest, now)) {
  }
  return memory;
}

void release(void* memory) {
  live -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void fail_allocation_after(std::size_t count) {
  left = count;
  failed = false;
}
bool allocation_failed() { return failed; }
std::size_t live_bytes() { return live; }
std::size_t peak_bytes() { return peak; }
void reset_peak() { peak = live.load(); }

}  // namespace trasmuon::test

// All forms: sanitizers replace those that are left, and take a mixture for a mistake.
using trasmuon::test::allocate;
using trasmuon::test::release;

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept { return operator new(bytes, nothrow); }

void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
