// SPDX-License-Identifier: Apache-2.0
#include "cpu/isa/amx.h"

#if defined(TRASMUON_X86) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace trasmuon::cpu {

#if defined(TRASMUON_X86) && defined(__linux__)
bool amx_usable() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;  // leaf 7, register edx
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & (kBf16 | kTile)) != (kBf16 | kTile)) return false;
  // The kernel keeps the 8 KiB of tiles only for processes that asked. It refuses where a thread's signal stack is too
  // small for them, and where it does not know tiles.
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool amx_usable() { return false; }
#endif

}  // namespace trasmuon::cpu
