// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cpu/kernels.h"
#include "trasmuon/error.h"

namespace trasmuon::cpu {

namespace baseline {
extern const KernelTable table;
}
#if defined(TRASMUON_X86)
namespace avx2 {
extern const KernelTable table;
}
namespace avx512 {
extern const KernelTable table;
}
#endif

namespace {

const KernelTable& best_table() {
#if defined(TRASMUON_X86)
  const char* wish = std::getenv("TRASMUON_ISA");
  const std::string_view limit = wish == nullptr ? "avx512" : wish;
  if (limit != "avx512" && limit != "avx2" && limit != "baseline") {
    throw Error("TRASMUON_ISA must be one of baseline, avx2, avx512, got '" + std::string(limit) + "'");
  }
  __builtin_cpu_init();
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512cd");
  if (has_avx512 && limit == "avx512") return avx512::table;
  if (has_avx2 && limit != "baseline") return avx2::table;
#endif
  return baseline::table;
}

}  // namespace

const KernelTable& kernel_table() {
  // No static with a guard: a fork in the middle of its initialization would lock it forever in the child. Two threads
  // that both choose choose the same.
  static std::atomic<const KernelTable*> chosen = nullptr;
  const KernelTable* table = chosen.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = &best_table();
    chosen.store(table, std::memory_order_release);
  }
  return *table;
}

}  // namespace trasmuon::cpu
