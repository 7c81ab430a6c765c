// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cpu/isa/amx.h"
#include "cpu/kernels.h"
#include "cpu/products/bf16_kernels.h"
#include "trasmuon/error.h"

namespace trasmuon::cpu {

namespace baseline {
extern const KernelTable table;
extern const Bf16Kernels bf16_table;
}  // namespace baseline
#if defined(TRASMUON_X86)
namespace avx2 {
extern const KernelTable table;
extern const Bf16Kernels bf16_table;
}  // namespace avx2
namespace avx512 {
extern const KernelTable table;
extern const Bf16Kernels bf16_table;
}  // namespace avx512
namespace avx512_bf16 {
extern const Bf16Kernels bf16_table;
}
namespace amx {
extern const Bf16Kernels bf16_table;
}
#endif

namespace {

#if defined(TRASMUON_X86)
enum class Isa : std::uint8_t { baseline, avx2, avx512, avx512_bf16, amx };
constexpr std::array<std::string_view, 5> kIsaNames{"baseline", "avx2", "avx512", "avx512_bf16", "amx"};

/// Returns the instruction set of TRASMUON_ISA, or the last one.
Isa limit() {
  const char* wish = std::getenv("TRASMUON_ISA");
  if (wish == nullptr) return Isa::amx;
  const auto* const found = std::find(kIsaNames.begin(), kIsaNames.end(), wish);
  if (found == kIsaNames.end()) {
    throw Error("TRASMUON_ISA must be one of baseline, avx2, avx512, avx512_bf16, amx, got '" + std::string(wish) +
                "'");
  }
  return static_cast<Isa>(found - kIsaNames.begin());
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}
bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }
#endif

const KernelTable& best_table() {
#if defined(TRASMUON_X86)
  const Isa most = limit();
  __builtin_cpu_init();
  if (most >= Isa::avx512 && has_avx512()) return avx512::table;
  if (most >= Isa::avx2 && has_avx2()) return avx2::table;
#endif
  return baseline::table;
}

const Bf16Kernels& best_bf16_kernels() {
#if defined(TRASMUON_X86)
  const Isa most = limit();
  __builtin_cpu_init();
  if (most >= Isa::amx && has_avx512_bf16() && amx_usable()) return amx::bf16_table;
  // Intel's vdpbf16ps takes two cycles where two f32 multiply-adds take one, so there it is used only when named.
  if (has_avx512_bf16() && (most == Isa::avx512_bf16 || (most == Isa::amx && !__builtin_cpu_is("intel")))) {
    return avx512_bf16::bf16_table;
  }
  if (most >= Isa::avx512 && has_avx512()) return avx512::bf16_table;
  if (most >= Isa::avx2 && has_avx2()) return avx2::bf16_table;
#endif
  return baseline::bf16_table;
}

// No static with a guard: a fork in the middle of its initialization would lock it forever in the child. Two threads
// that both choose choose the same.
template <class Table>
const Table& chosen_once(std::atomic<const Table*>& chosen, const Table& (*choose)()) {
  const Table* table = chosen.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = &choose();
    chosen.store(table, std::memory_order_release);
  }
  return *table;
}

thread_local int scopes = 0;

}  // namespace

const KernelTable& kernel_table() {
  static std::atomic<const KernelTable*> chosen = nullptr;
  return chosen_once(chosen, best_table);
}

const Bf16Kernels& bf16_kernels() {
  static std::atomic<const Bf16Kernels*> chosen = nullptr;
  return chosen_once(chosen, best_bf16_kernels);
}

Bf16Scope::Bf16Scope() {
  if (scopes++ == 0) bf16_kernels().begin();
}
Bf16Scope::~Bf16Scope() {
  if (--scopes == 0) bf16_kernels().end();
}

}  // namespace trasmuon::cpu
