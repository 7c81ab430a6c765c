// SPDX-License-Identifier: Apache-2.0
#include "stages/backend.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "cuda/cut_step.h"
#include "cuda/group.h"
#include "cuda/orthogonalize.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/device_guard.h"
#include "cuda/runtime/device_info.h"
#include "cuda/runtime/device_memory.h"
#include "trasmuon/version.h"

namespace trasmuon {
namespace cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device) : device_(device) {
    const DeviceGuard guard(device);
    info_ = std::make_unique<DeviceInfo>(device);
  }
  ~CudaBackend() override {
    try {
      const DeviceGuard guard(device_);
      groups_.clear();
      info_.reset();
    } catch (const Error&) {  // the driver is shutting down and frees everything itself
    }
  }

  void prepare(std::span<Matrix> matrices, const Plan& plan, void* stream) override {
    const DeviceGuard guard(device_);
    std::unique_ptr<Group>& group = groups_[matrices.data()];
    if (group == nullptr) {
      refuse_capture(static_cast<cudaStream_t>(stream));
      group = std::make_unique<Group>(*info_);
    }
    group->prepare(matrices, plan, static_cast<cudaStream_t>(stream));
  }
  void run(std::span<Matrix> matrices, const Plan& plan, void* stream) override {
    const DeviceGuard guard(device_);
    groups_.at(matrices.data())->run(matrices, plan, static_cast<cudaStream_t>(stream));
  }
  void prepare_cut(CutStep& step, void* stream) override {
    const DeviceGuard guard(device_);
    check_not_captured(stream);
    for (const CutMatrix& x : step.matrices) {
      if (x.rows->diagnostics == nullptr) continue;
      throw Error("cuda: diagnostics must be off for sharded steps: the device does not compute them");
    }
    const auto* made = static_cast<const CutRun*>(step.scratch.get());
    if (made != nullptr && made->fits(step)) return;
    step.scratch.reset();  // frees its memory before the new one allocates
    step.scratch = std::make_unique<CutRun>(*info_, step);
  }
  void run_cut(CutPhase phase, CutStep& step, void* stream) override {
    const DeviceGuard guard(device_);
    check_not_captured(stream);
    static_cast<CutRun&>(*step.scratch).enqueue(phase, step, static_cast<cudaStream_t>(stream));
  }
  void check_recorded(std::span<Matrix> matrices, const Plan& plan, void* stream) override {
    const DeviceGuard guard(device_);
    if (Group* group = find(matrices)) group->check_recorded(plan, static_cast<cudaStream_t>(stream));
  }
  void refresh_recorded(std::span<Matrix> matrices, const Plan& plan, void* stream) override {
    const DeviceGuard guard(device_);
    if (Group* group = find(matrices)) group->refresh_recorded(plan, static_cast<cudaStream_t>(stream));
  }
  void diagnose(std::span<Matrix> matrices, std::size_t first, std::size_t count) override {
    const DeviceGuard guard(device_);
    if (Group* group = find(matrices)) group->diagnose(matrices, first, count);
  }
  void orthogonalize(std::span<const MatrixView> in, std::span<const MatrixView> out, const OrthogonalizeStage& stage,
                     void* stream) override {
    const DeviceGuard guard(device_);
    cuda::orthogonalize(*info_, in, out, stage, static_cast<cudaStream_t>(stream));
  }
  std::size_t workspace_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& [key, group] : groups_) bytes += group->workspace_bytes();
    return bytes;
  }
  // It supports all options and precisions.
  void check(const Options&) const override {}
  void check_precision(NewtonSchulzPrecision, const std::string&) const override {}

  void* allocate(std::size_t bytes) override {
    const DeviceGuard guard(device_);
    void* memory = nullptr;
    cuda::check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    return memory;
  }
  void release(void* memory) override { free_memory(memory); }
  void read(const void* from, void* host, std::size_t bytes) override {
    const DeviceGuard guard(device_);
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cuda::check(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  void write(const void* host, void* to, std::size_t bytes) override {
    const DeviceGuard guard(device_);
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cuda::check(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    // The copy may return before the device has all of it, and other streams do not wait for this one.
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

 private:
  static void check_not_captured(void* stream) {
    if (is_capturing(static_cast<cudaStream_t>(stream)))
      throw Error("cuda: a sharded step cannot be captured in a graph");
  }
  /// The group of this list; null if it has not been stepped.
  Group* find(std::span<Matrix> matrices) {
    const auto group = groups_.find(matrices.data());
    return group == groups_.end() ? nullptr : group->second.get();
  }

  int device_;
  std::unique_ptr<DeviceInfo> info_;
  std::map<const Matrix*, std::unique_ptr<Group>> groups_;  ///< by the address of the group's list
};

}  // namespace
}  // namespace cuda
}  // namespace trasmuon

extern "C" TRASMUON_API const char* trasmuon_cuda_version() { return TRASMUON_VERSION; }

extern "C" TRASMUON_API trasmuon::Backend* trasmuon_cuda_backend(int device) {
  int count = 0;
  trasmuon::cuda::check(cudaGetDeviceCount(&count), "looking for a GPU");
  if (device < 0 || device >= count) {
    throw trasmuon::Error("cuda: device must be < " + std::to_string(count) + ", got " + std::to_string(device));
  }
  return new trasmuon::cuda::CudaBackend(device);
}
