// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <ctime>
#include <fstream>
#include <string>
#include <utility>

#include "cpu/kernels.h"
#include "report.h"
#include "trasmuon/version.h"

namespace trasmuon::bench {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

}  // namespace

Machine describe_machine(int threads, std::string peer) {
  return {.cpu = cpu_model(),
          .cores = usable_cores(),
          .threads = threads,
          .isa = cpu::kernel_table().isa,
          .compiler = TRASMUON_BENCH_COMPILER,
          .version = TRASMUON_VERSION,
          .peer = std::move(peer),
          .date = now()};
}

}  // namespace trasmuon::bench
