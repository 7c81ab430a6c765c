/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers CPUID leaves 0x1d and 0x1e as processors with AMX do, for virtual machines that offer AMX but hide them:
 * there torch's AMX kernels end with an illegal instruction. Linux on Intel processors with CPUID faulting.
 *
 *     cc -O1 -shared -fPIC show_amx.c -o show_amx.so
 *     LD_PRELOAD=$PWD/show_amx.so benchmarks/python/bench.py ... --device cpu */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kSetCpuid = 0x1012 }; /* of arch_prctl: 0 lets CPUID fault */

static void answer(int signal_number, siginfo_t* info, void* context) {
  (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* code = (const unsigned char*)registers[REG_RIP];
  if (code[0] != 0x0f || code[1] != 0xa2) { /* not CPUID: fault again, for good */
    signal(signal_number, SIG_DFL);
    return;
  }
  const unsigned leaf = (unsigned)registers[REG_RAX], part = (unsigned)registers[REG_RCX];
  unsigned a, b, c, d;
  syscall(SYS_arch_prctl, kSetCpuid, 1);
  __cpuid_count(leaf, part, a, b, c, d);
  syscall(SYS_arch_prctl, kSetCpuid, 0);
  if (leaf == 0 && a < 0x1e) a = 0x1e;
  if (leaf == 0x1d) { /* palette 1: 8 KiB in 8 tiles of 16 rows of 64 bytes */
    a = part == 0 ? 1 : 0x04002000;
    b = part == 1 ? 0x00080040 : 0;
    c = part == 1 ? 16 : 0;
    d = 0;
  }
  if (leaf == 0x1e) { /* products of up to 16 columns, 64 bytes each */
    a = c = d = 0;
    b = 0x4010;
  }
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  syscall(SYS_arch_prctl, kSetCpuid, 0);
}
