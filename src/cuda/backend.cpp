// SPDX-License-Identifier: Apache-2.0
#include "stages/backend.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "cuda/batch.h"
#include "trasmuon/version.h"

namespace trasmuon {
namespace cuda {
namespace {

/// Collects what the stages of a step ask for; nothing is enqueued before all of it is known.
class CudaStages final : public Stages {
 public:
  StepDescription description;

  void begin(std::span<Matrix>, const MuonPipeline&) override { description = {}; }
  void admit(std::span<Matrix>, bool skip_nonfinite) override { description.scalars.skip_nonfinite = skip_nonfinite; }
  void momentum(std::span<Matrix>, const MomentumStage& stage) override {
    description.scalars.beta1 = stage.beta;
    description.scalars.nesterov = stage.nesterov;
  }
  void orthogonalize(std::span<Matrix>, const OrthogonalizeStage& stage) override {
    description.orthogonalize = stage;
    description.scalars.eps_relative = stage.eps_relative;
    description.scalars.eps_absolute = stage.eps_absolute;
    description.scalars.eps_cap = stage.eps_cap;
  }
  void keep_momentum(std::span<Matrix>) override { description.orthogonalize.reset(); }
  void row_scale(std::span<Matrix>, const RowScaleStage& stage) override {
    description.scalars.row_scale = true;
    description.scalars.beta2 = stage.beta;
    description.scalars.eps_inside = stage.eps_inside;
    description.scalars.eps_outside = stage.eps_outside;
  }
  void keep_rows(std::span<Matrix>, bool) override { description.scalars.row_scale = false; }
  void calibrate(std::span<Matrix>, const CalibrateStage& stage, double lr) override {
    description.scalars.calibrate = stage;
    description.scalars.lr = lr;
  }
  void trust_region(std::span<Matrix>, const TrustRegionStage& stage) override {
    description.scalars.trust = true;
    description.scalars.trust_region = stage;
  }
  void apply(std::span<Matrix>, double decay) override { description.scalars.decay = decay; }
  void adamw(std::span<Matrix>, const AdamWOptions& options) override {
    description = {};
    description.kind = StepDescription::Kind::adamw;
    description.scalars.adamw = options;
  }
  void dion(std::span<Matrix>, const DionOptions& options) override {
    description = {};
    description.kind = StepDescription::Kind::dion;
    description.scalars.lr = options.lr;
    description.scalars.decay = 1 - options.lr * options.weight_decay;
    description.scalars.feedback = options.momentum;
  }
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device) : device_(device) {
    const OnDevice guard(device);
    card_ = std::make_unique<Card>(device);
  }
  ~CudaBackend() override {
    try {
      const OnDevice guard(device_);
      batches_.clear();
      card_.reset();
    } catch (const Error&) {  // the driver is shutting down: there is nothing left to give back
    }
  }

  void run(std::span<Matrix> matrices, const Step& step, void* stream) override {
    const OnDevice guard(device_);
    step(stages_, matrices);
    std::unique_ptr<Batch>& batch = batches_[matrices.data()];
    if (batch == nullptr) {
      refuse_capture(static_cast<cudaStream_t>(stream));
      batch = std::make_unique<Batch>(*card_);
    }
    batch->run(matrices, stages_.description, static_cast<cudaStream_t>(stream));
  }
  void check_recorded(std::span<Matrix> matrices, const Step& step, void* stream) override {
    if (Batch* batch = described(matrices, step); batch != nullptr) {
      const OnDevice guard(device_);
      batch->check_recorded(stages_.description, static_cast<cudaStream_t>(stream));
    }
  }
  void refresh_recorded(std::span<Matrix> matrices, const Step& step, void* stream) override {
    if (Batch* batch = described(matrices, step); batch != nullptr) {
      const OnDevice guard(device_);
      batch->refresh_recorded(stages_.description, static_cast<cudaStream_t>(stream));
    }
  }
  void diagnose(std::span<Matrix> matrices, std::size_t first, std::size_t count) override {
    const OnDevice guard(device_);
    const auto batch = batches_.find(matrices.data());
    if (batch != batches_.end()) batch->second->diagnose(matrices, first, count);
  }
  void orthogonalize(std::span<const MatrixView> in, std::span<const MatrixView> out, const OrthogonalizeStage& stage,
                     void* stream) override {
    const OnDevice guard(device_);
    cuda::orthogonalize(*card_, in, out, stage, static_cast<cudaStream_t>(stream));
  }
  std::size_t workspace_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& [key, batch] : batches_) bytes += batch->workspace_bytes();
    return bytes;
  }
  void check(const Options&) const override {}  // there is nothing it cannot do

  void* allocate(std::size_t bytes) override {
    const OnDevice guard(device_);
    void* memory = nullptr;
    cuda::check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    return memory;
  }
  void release(void* memory) override { (void)cudaFree(memory); }
  void read(const void* from, void* host, std::size_t bytes) override {
    const OnDevice guard(device_);
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cuda::check(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  void write(const void* host, void* to, std::size_t bytes) override {
    const OnDevice guard(device_);
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cuda::check(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    // It may return before the device has it all, and other streams do not wait for this one.
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

 private:
  /// The batch of this list, if it has been stepped, and the step in stages_.description.
  Batch* described(std::span<Matrix> matrices, const Step& step) {
    const auto batch = batches_.find(matrices.data());
    if (batch == batches_.end()) return nullptr;
    step(stages_, matrices);
    return batch->second.get();
  }

  int device_;
  std::unique_ptr<Card> card_;
  CudaStages stages_;
  std::map<const Matrix*, std::unique_ptr<Batch>> batches_;  ///< by the group's list
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
