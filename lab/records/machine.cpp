// SPDX-License-Identifier: Apache-2.0
#include "lab/records/machine.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/utsname.h>
#include <trasmuon/threads.h>
#include <trasmuon/version.h>

#include <ctime>
#include <fstream>

#include "lab/records/blas.h"

namespace trasmuon::lab {
namespace {

std::string system_name() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release + " " + name.machine : "unknown";
}

}  // namespace

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void use_threads(int count) {
  set_num_threads(count);
  using Setter = void (*)(int);
  if (const auto set = reinterpret_cast<Setter>(::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(count);
}

std::string utc_now() {
  const std::time_t time = std::time(nullptr);
  std::tm fields{};
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&time, &fields));
  return text;
}

Json describe_machine() {
  return {{"cpu", cpu_model()},       {"cores", usable_cores()},
          {"system", system_name()},  {"compiler", TRASMUON_LAB_COMPILER},
          {"blas", find_blas().name}, {"version", TRASMUON_VERSION}};
}

}  // namespace trasmuon::lab
