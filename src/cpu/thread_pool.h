// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace trasmuon::cpu {

/// Calls body(index, worker) for every index in [0, count), indices handed out one by
/// one. `worker` < num_threads() and no two calls with the same worker overlap. A call
/// from inside a body, or while another thread uses the pool, runs inline. The first
/// exception thrown by a body is rethrown here after all others finished.
void parallel_for(std::int64_t count, void (*body)(void* context, std::int64_t index, int worker), void* context);

template <class Body>
void parallel_for(std::int64_t count, Body&& body) {
  parallel_for(
      count,
      [](void* context, std::int64_t index, int worker) {
        (*static_cast<std::remove_reference_t<Body>*>(context))(index, worker);
      },
      &body);
}

}  // namespace trasmuon::cpu
