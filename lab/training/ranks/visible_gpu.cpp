// SPDX-License-Identifier: Apache-2.0
#include "lab/training/ranks/visible_gpu.h"

#include <trasmuon/error.h>

#include <cstdlib>
#include <sstream>
#include <vector>

namespace trasmuon::lab {
namespace {

constexpr const char* kVariable = "CUDA_VISIBLE_DEVICES";

}  // namespace

std::string gpu_of_rank(const char* visible, int rank, int count) {
  if (visible == nullptr) return std::to_string(rank);
  std::vector<std::string> gpus;
  std::istringstream list(visible);
  for (std::string gpu; std::getline(list, gpu, ',');) gpus.push_back(gpu);
  if (static_cast<std::size_t>(count) > gpus.size())
    throw Error("ranks must be <= " + std::to_string(gpus.size()) + ", the GPUs in " + kVariable + ", got " +
                std::to_string(count));
  return gpus[static_cast<std::size_t>(rank)];
}

void show_gpu_of_rank(int rank, int count) {
  ::setenv(kVariable, gpu_of_rank(std::getenv(kVariable), rank, count).c_str(), 1);
}

}  // namespace trasmuon::lab
