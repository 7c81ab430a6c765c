// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/threads.h"

#include <string>

#include "cpu/thread_pool.h"
#include "trasmuon/error.h"

namespace trasmuon {

void set_num_threads(int threads) {
  if (threads < 1 || threads > cpu::kMaxThreads) {
    throw Error("trasmuon: threads must be in [1, " + std::to_string(cpu::kMaxThreads) + "], got " +
                std::to_string(threads));
  }
  cpu::set_pool_threads(threads);
}

int num_threads() { return cpu::pool_threads(); }

}  // namespace trasmuon
