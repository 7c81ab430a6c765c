// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace trasmuon {

/// Hands out aligned pieces of a block of memory, front to back. Without a block it only counts the bytes, so one
/// function describes a layout and measures it.
class Arena {
 public:
  explicit Arena(std::byte* block = nullptr) : block_(block) {}

  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  void* take_bytes(std::size_t bytes) {
    void* piece = block_ == nullptr ? nullptr : block_ + used_;
    used_ += aligned(bytes);
    return piece;
  }
  std::size_t used() const { return used_; }

  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  static constexpr std::size_t kAlignment = 256;  // for bulk copies and cuBLAS; a CPU needs 64
  std::byte* block_;
  std::size_t used_ = 0;
};

}  // namespace trasmuon
