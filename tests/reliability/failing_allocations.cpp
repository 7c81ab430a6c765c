// SPDX-License-Identifier: Apache-2.0
#include "failing_allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace trasmuon::test {
namespace {

std::atomic<long> live{0};
std::atomic<bool> armed{false}, all_later{false}, failed{false};
std::atomic<long> until_failure{0};

bool fails() {
  if (!armed) return false;
  const long left = --until_failure;
  const bool now = left == 0 || (left < 0 && all_later);
  if (now) failed = true;
  return now;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t)) memory = std::malloc(bytes == 0 ? 1 : bytes);
  else if (posix_memalign(&memory, alignment, bytes) != 0) memory = nullptr;
  if (memory != nullptr) ++live;
  return memory;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  --live;
  std::free(memory);
}

}  // namespace

FailAllocation::FailAllocation(long k, bool and_later) {
  failed = false;
  all_later = and_later;
  until_failure = k;
  armed = true;
}
FailAllocation::~FailAllocation() { armed = false; }
bool FailAllocation::happened() const { return failed; }

long live_allocations() { return live; }

}  // namespace trasmuon::test

using trasmuon::test::allocate;
using trasmuon::test::allocate_or_throw;
using trasmuon::test::release;
constexpr std::size_t kDefault = alignof(std::max_align_t);

void* operator new(std::size_t n) { return allocate_or_throw(n, kDefault); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, kDefault); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kDefault); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kDefault); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
