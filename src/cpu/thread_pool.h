// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace trasmuon::cpu {

constexpr int kMaxThreads = 1024;

/// Calls body(index) for every index in [0, count), indices handed out one by one. A call from inside a body, or while
/// another thread uses the pool, runs inline. The first exception thrown by a body is rethrown here after all others
/// finished.
void parallel_for(std::int64_t count, void (*body)(void* context, std::int64_t index), void* context);

template <class Body>
void parallel_for(std::int64_t count, Body&& body) {
  parallel_for(
      count, [](void* context, std::int64_t index) { (*static_cast<std::remove_reference_t<Body>*>(context))(index); },
      &body);
}

/// Threads of the pool, including the caller's. Setting them waits for the running region and stops the old ones. They
/// can change at any time.
void set_pool_threads(int threads);
int pool_threads();

}  // namespace trasmuon::cpu
