// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace host_cuda {

/// A stack of its own on which `body` is run again and again: resume() runs it until it suspends or returns. Only
/// one runs at a time.
class Fiber {
 public:
  explicit Fiber(void (*body)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume();
  /// Called by the body.
  static void suspend();

 private:
  static void run();
  [[noreturn]] void start();

  void (*body_)();
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t context_{};
  bool started_ = false;
  void* registers_[5]{};
};

}  // namespace host_cuda
