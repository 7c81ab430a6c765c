// SPDX-License-Identifier: Apache-2.0
#include "lab/records/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace trasmuon::lab {

double usable_memory() {
  const double machine = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  double limit = 0;
  std::ifstream group("/sys/fs/cgroup/memory.max");  // "max" if there is no limit
  return group >> limit && limit > 0 ? std::min(machine, limit) : machine;
}

std::string bytes_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} bytes", bytes);
  const char* unit = "kB";
  for (const char* larger : {"MB", "GB", "TB", "PB", "EB"}) {
    if (bytes < 999.5e3) break;
    bytes /= 1e3;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", bytes / 1e3, unit);
}

}  // namespace trasmuon::lab
