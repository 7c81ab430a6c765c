// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support/golden.h"
#include "tools/cuda_memory.h"
#include "trasmuon/error.h"

namespace {

using namespace trasmuon;

constexpr const char* kUsage =
    "usage: replay_golden [--device cpu|cuda] [--dtype f64|f32] FILE...\n"
    "\n"
    "Replays files of golden vectors (tests/golden/*.json, tests/golden/released/*.json) and prints how far the\n"
    "library deviates from them: the largest difference in a tensor over the largest value in it, for the worst\n"
    "tensor of each file.\n"
    "\n"
    "  --device cpu|cuda   backend to replay on (default cpu); cuda is cuda:0\n"
    "  --dtype f64|f32     type of weights, gradients and state (default f64)\n"
    "  --help              show this text\n"
    "\n"
    "Exit status: 0 if every file is within the tolerance of the type (1e-9, 1e-4), 1 if not, 2 for a wrong\n"
    "command line.\n";

struct Settings {
  bool help = false;
  bool cuda = false;
  DType dtype = DType::f64;
  std::vector<std::string> files;
};

/// Throws Error for a wrong command line.
Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto choose = [&](const std::string& first, const std::string& second) {
      const std::string value = i + 1 < argc ? argv[++i] : "nothing";
      if (value != first && value != second) {
        throw Error(argument + " must be " + first + " or " + second + ", got " + value);
      }
      return value == second;
    };
    if (argument == "--help") settings.help = true;
    else if (argument == "--device") settings.cuda = choose("cpu", "cuda");
    else if (argument == "--dtype") settings.dtype = choose("f64", "f32") ? DType::f32 : DType::f64;
    else if (argument.starts_with("--")) throw Error("unknown option " + argument);
    else settings.files.push_back(argument);
  }
  if (settings.files.empty() && !settings.help) throw Error("no FILE given");
  return settings;
}

std::unique_ptr<test::Memory> make_memory(bool cuda) {
  if (!cuda) return std::make_unique<test::Memory>();
  if (const std::string reason = why_unusable(Device::cuda(0)); !reason.empty()) throw Error(reason);
  return test::make_cuda_memory();
}

/// Whether all files are within the tolerance.
bool replay(const Settings& settings) {
  const double tolerance = test::golden_tolerance(settings.dtype);
  std::string device;
  double worst = 0;
  bool passed = true;
  for (const std::string& file : settings.files) {
    const std::unique_ptr<test::Memory> memory = make_memory(settings.cuda);
    device = to_string(memory->device());
    try {
      const test::Deviation deviation = test::replay_golden(file, settings.dtype, *memory);
      std::printf("%-60s %.3e  %d tensors, worst: %s\n", file.c_str(), deviation.worst, deviation.compared,
                  deviation.where.c_str());
      passed = passed && deviation.worst <= tolerance && deviation.compared > 0;
      worst = std::max(worst, deviation.worst);
    } catch (const std::exception& error) {
      std::printf("%-60s error: %s\n", file.c_str(), error.what());
      passed = false;
      worst = std::numeric_limits<double>::infinity();
    }
  }
  std::printf("worst relative deviation: %.3e (%s, %s, tolerance %.0e): %s\n", worst, device.c_str(),
              to_string(settings.dtype), tolerance, passed ? "ok" : "FAILED");
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  try {
    settings = parse(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay_golden: %s\n%s", error.what(), kUsage);
    return 2;
  }
  if (settings.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    return replay(settings) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay_golden: %s\n", error.what());
    return 1;
  }
}
