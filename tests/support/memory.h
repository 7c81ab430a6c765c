// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "trasmuon/device.h"

namespace trasmuon::test {

/// Memory of the device under test, freed on destruction. This base class uses host memory.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual Device device() const { return Device::cpu(); }
  virtual void* allocate(std::size_t bytes) {
    blocks_.push_back(std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1));
    return blocks_.back().get();
  }
  virtual void write(void* to, const void* host, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, host, bytes);  // what is empty may have no address
  }
  virtual void read(void* host, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(host, from, bytes);
  }

  template <class T>
  T* copy(const std::vector<T>& values) {
    T* data = static_cast<T*>(allocate(values.size() * sizeof(T)));
    write(data, values.data(), values.size() * sizeof(T));
    return data;
  }
  template <class T>
  std::vector<T> fetch(const void* data, std::size_t count) {
    std::vector<T> values(count);
    read(values.data(), data, count * sizeof(T));
    return values;
  }

 private:
  std::vector<std::unique_ptr<std::max_align_t[]>> blocks_;
};

}  // namespace trasmuon::test
