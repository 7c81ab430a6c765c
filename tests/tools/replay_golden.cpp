// SPDX-License-Identifier: Apache-2.0
// replay_golden [--dtype f64|f32] FILE...
#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "support/golden.h"

int main(int argc, char** argv) {
  using namespace trasmuon;
  DType dtype = DType::f64;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string value = argument == "--dtype" && i + 1 < argc ? argv[++i] : "";
    if (value == "f64") dtype = DType::f64;
    else if (value == "f32") dtype = DType::f32;
    else if (argument.starts_with("--")) files.clear(), i = argc;
    else files.push_back(argument);
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: replay_golden [--dtype f64|f32] FILE...\n");
    return 2;
  }
  const double tolerance = test::golden_tolerance(dtype);
  double worst = 0;
  bool failed = false;
  for (const std::string& file : files) {
    try {
      const test::Deviation deviation = test::replay_golden(file, dtype);
      std::printf("%-60s %.3e  %d tensors, worst: %s\n", file.c_str(), deviation.worst, deviation.compared,
                  deviation.where.c_str());
      failed = failed || !(deviation.worst <= tolerance) || deviation.compared == 0;
      worst = deviation.worst > worst ? deviation.worst : worst;
    } catch (const std::exception& error) {
      std::printf("%-60s error: %s\n", file.c_str(), error.what());
      failed = true;
      worst = std::numeric_limits<double>::infinity();
    }
  }
  std::printf("worst relative deviation: %.3e (%s, tolerance %.0e): %s\n", worst, to_string(dtype), tolerance,
              failed ? "FAILED" : "ok");
  return failed ? 1 : 0;
}
