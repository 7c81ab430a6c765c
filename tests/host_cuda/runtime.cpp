// SPDX-License-Identifier: Apache-2.0
//
// Device, memory and errors. Device memory is the host's, and everything is done when the call returns.
#include "runtime.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "block.h"

namespace host_cuda {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
std::string kernel_failure;  // of the first kernel that failed; every call reports it

}  // namespace

std::mutex device;

cudaError_t report(cudaError_t error) {
  if (!kernel_failure.empty()) error = cudaErrorLaunchFailure;
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t run(const std::function<void()>& work) {
  if (!kernel_failure.empty()) return cudaErrorLaunchFailure;
  try {
    work();
    return cudaSuccess;
  } catch (const KernelError& error) {
    kernel_failure = std::string("the kernel failed: ") + error.what();
    return cudaErrorLaunchFailure;
  }
}

void launch(dim3 grid, dim3 block, cudaStream_t stream, std::function<void()> thread) {
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMostThreads || grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff ||
      grid.y > 65535 || grid.z > 65535) {
    (void)report(cudaErrorInvalidConfiguration);
    return;
  }
  (void)report(enqueue(stream, [=, thread = std::move(thread)] { run_grid(grid, block, thread); }));
}

}  // namespace host_cuda

using host_cuda::report;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
    case cudaErrorLaunchFailure: return host_cuda::kernel_failure.c_str();
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureMerge: return "operation would result in a merge of separate capture sequences";
    case cudaErrorStreamCaptureUnmatched: return "capture was not ended in the same stream as it began";
    case cudaErrorStreamCaptureUnjoined: return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation: return "dependency created on uncaptured work in another stream";
    case cudaErrorCapturedEvent: return "operation not permitted on an event last recorded in a capturing stream";
    case cudaErrorStreamCaptureWrongThread:
      return "attempt to terminate a thread-local capture sequence from another thread";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() { return std::exchange(host_cuda::last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* index) {
  *index = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int index) { return report(index == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  if (index != 0) return report(cudaErrorInvalidDevice);
  // Not Hopper: its kernels are written in instructions of its own.
  *properties = {
      .name = "host", .totalGlobalMem = std::size_t{8} << 30, .major = 8, .minor = 0, .multiProcessorCount = 4};
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  host_cuda::kernel_failure.clear();
  host_cuda::last_error = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = nullptr;
  *result = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  const std::scoped_lock lock(host_cuda::device);
  if (const cudaError_t error = host_cuda::refuse_beside_capture(); error != cudaSuccess) return report(error);
  if (posix_memalign(data, 256, std::max<std::size_t>(bytes, 1)) != 0) return report(cudaErrorMemoryAllocation);
  std::memset(*data, 0xFF, bytes);  // NaN: what is read before it is written shows
  return report(cudaSuccess);
}

cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  const std::scoped_lock lock(host_cuda::device);
  if (const cudaError_t error = host_cuda::refuse_beside_capture(); error != cudaSuccess) return report(error);
  free(data);
  return report(cudaSuccess);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const std::scoped_lock lock(host_cuda::device);
  if (const cudaError_t error = host_cuda::refuse_beside_capture(); error != cudaSuccess) return report(error);
  if (bytes > 0) std::memcpy(to, from, bytes);  // as CUDA, which allows null pointers then
  return report(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return report(host_cuda::enqueue(stream, [=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }));
}

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  const std::scoped_lock lock(host_cuda::device);
  if (const cudaError_t error = host_cuda::refuse_beside_capture(); error != cudaSuccess) return report(error);
  std::memset(data, value, bytes);
  return report(cudaSuccess);
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  return report(host_cuda::enqueue(stream, [=] { std::memset(data, value, bytes); }));
}
