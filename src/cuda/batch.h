// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cuda/kernels.h"
#include "cuda/orthogonalize.h"
#include "stages/matrix.h"

namespace trasmuon::cuda {

/// A device, its properties and its cuBLAS handle.
struct Card {
  int device = 0, multiprocessors = 0;
  std::size_t memory = 0;
  bool hopper = false;
  cublasHandle_t blas = nullptr;
  DeviceMemory blas_workspace;
  explicit Card(int device_index);
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  ~Card();
};

/// What the stages ask for, collected before anything is enqueued.
struct StepDescription {
  enum class Kind : std::uint8_t { pipeline, adamw } kind = Kind::pipeline;
  StepScalars scalars{};
  std::optional<OrthogonalizeStage> orthogonalize;
};

bool is_capturing(cudaStream_t stream);
/// Throws Error while the caller records a graph: what has to be planned cannot be recorded.
void refuse_capture(cudaStream_t stream);

/// The matrices of one group on one device: tables, scratch, and the step as a recorded graph.
class Batch {
 public:
  explicit Batch(const Card& card);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// The matrices may point elsewhere than before, but have the shapes they were made with.
  void run(std::span<const Matrix> matrices, const StepDescription& step, cudaStream_t stream);
  std::size_t workspace_bytes() const { return scratch_.bytes(); }

 private:
  struct Part;  ///< as many matrices as the scratch holds at once
  void plan(std::span<const Matrix> matrices, const StepDescription& step);
  void refresh_tables(std::span<const Matrix> matrices, const StepDescription& step, cudaStream_t stream);
  void enqueue(std::span<const StepMemory> memories, cudaStream_t stream);  ///< one memory a part
  void record();

  const Card& card_;
  std::optional<StepDescription> planned_;
  std::vector<std::unique_ptr<Part>> parts_;
  DeviceMemory scratch_, scalars_;
  std::vector<std::byte> last_scalars_;
  cudaStream_t recorder_ = nullptr, side_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace trasmuon::cuda
