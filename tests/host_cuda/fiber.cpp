// SPDX-License-Identifier: Apache-2.0
//
// makecontext starts a fiber once; from then on the compiler's own setjmp and longjmp switch, for swapcontext asks
// the kernel for the signal mask at every switch. Compiled without sanitizers: they take a jump to another stack
// for the end of this one.
#include "fiber.h"

namespace host_cuda {
namespace {

// No power of two: else the tops of all stacks would compete for the same lines of the cache.
constexpr std::size_t kStackBytes = (std::size_t{128} << 10) + 576;

void* caller[5];  // where resume() goes on
Fiber* current = nullptr;

[[noreturn, gnu::noinline]] void jump(void** registers) { __builtin_longjmp(registers, 1); }

}  // namespace

Fiber::Fiber(void (*body)()) : body_(body), stack_(new std::byte[kStackBytes]) {}

void Fiber::run() {
  for (;;) {
    current->body_();
    suspend();
  }
}

[[gnu::noinline]] void Fiber::start() {
  started_ = true;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = kStackBytes;
  makecontext(&context_, &Fiber::run, 0);
  setcontext(&context_);
  __builtin_unreachable();
}

[[gnu::noinline]] void Fiber::resume() {
  current = this;
  if (__builtin_setjmp(caller) != 0) return;
  if (started_) jump(registers_);
  start();
}

[[gnu::noinline]] void Fiber::suspend() {
  if (__builtin_setjmp(current->registers_) == 0) jump(caller);
}

}  // namespace host_cuda
