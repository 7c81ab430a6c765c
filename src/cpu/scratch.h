// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "stages/arena.h"

namespace trasmuon::cpu {

/// Bytes that layout(arena) takes.
template <class Layout>
std::size_t bytes_of(Layout&& layout) {
  Arena counter;
  (void)layout(counter);
  return counter.used();
}

/// Scratch memory that grows to the largest demand and stays there.
class Scratch {
 public:
  /// Calls layout(arena) twice, first to count the bytes, then to hand out memory, and returns its result. Memory
  /// handed out before becomes invalid.
  template <class Layout>
  auto lay_out(Layout&& layout) {
    reserve(bytes_of(layout));
    Arena arena(memory_.get());
    return layout(arena);
  }

  /// Layouts up to this size allocate nothing from here on. Earlier pieces become invalid.
  void reserve(std::size_t bytes) {
    if (bytes <= capacity_) return;
    memory_.reset();
    capacity_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    capacity_ = bytes;
  }
  std::size_t capacity() const { return capacity_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace trasmuon::cpu
