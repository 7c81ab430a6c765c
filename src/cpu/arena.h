// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace trasmuon::cpu {

/// Scratch memory handed out front to back and taken back all at once. Grows to the
/// largest demand and stays there.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// Makes room for `bytes`; what was handed out before is void.
  void reserve(std::size_t bytes) {
    used_ = 0;
    if (bytes <= capacity_) return;
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment})));
    capacity_ = bytes;
  }

  template <class T>
  T* take(std::int64_t count) {
    T* result = reinterpret_cast<T*>(memory_.get() + used_);
    used_ += bytes_for<T>(count);
    return result;
  }

  template <class T>
  static constexpr std::size_t bytes_for(std::int64_t count) {
    return (static_cast<std::size_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

}  // namespace trasmuon::cpu
