// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <set>
#include <string>
#include <vector>

#include "trasmuon/device.h"
#include "trasmuon/error.h"
#include "trasmuon/libtorch/tensors.h"

#ifdef TRASMUON_LIBTORCH_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

// Devices of tensors, and torch's current streams. TRASMUON_LIBTORCH_CUDA means that the program
// links a LibTorch with CUDA; the CMake target trasmuon::libtorch defines it. Without it these
// headers compile against a LibTorch for the CPU only.
namespace trasmuon::libtorch::detail {

inline Device device_of(const torch::Tensor& tensor, const std::string& who) {
  if (tensor.device().is_cpu()) return Device::cpu();
  if (!tensor.device().is_cuda()) {
    throw Error(who + ": must be on cpu or cuda, got device " + text_of(tensor.device()));
  }
#ifdef TRASMUON_LIBTORCH_CUDA
  return Device::cuda(tensor.device().index());
#else
  throw Error(who + ": must be on cpu, because this program was compiled without TRASMUON_LIBTORCH_CUDA, got device " +
              text_of(tensor.device()) +
              "; link the CMake target trasmuon::libtorch of a LibTorch with CUDA, or define it yourself");
#endif
}

/// Returns torch's current stream on each of `gpus`: entry i is that of cuda:i.
inline std::vector<void*> current_streams([[maybe_unused]] const std::set<int>& gpus) {
  std::vector<void*> streams;
#ifdef TRASMUON_LIBTORCH_CUDA
  for (const int gpu : gpus) {
    streams.resize(static_cast<std::size_t>(gpu) + 1);
    streams.back() = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(gpu)).stream();
  }
#endif
  return streams;
}

}  // namespace trasmuon::libtorch::detail
