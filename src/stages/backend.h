// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "stages/matrix.h"
#include "stages/stages.h"

namespace trasmuon {

/// The stages of a step as calls on a device. Every call works on one batch of matrices
/// and passes over those that are not active.
class Stages {
 public:
  virtual ~Stages() = default;

  /// Lends the batch its scratch for the stages of `pipeline`, until the next call.
  virtual void begin(std::span<Matrix> batch, const MuonPipeline& pipeline) = 0;
  /// active <- has a gradient, which is finite and safe to square when `skip_nonfinite`.
  virtual void admit(std::span<Matrix> batch, bool skip_nonfinite) = 0;

  virtual void momentum(std::span<Matrix> batch, const MomentumStage& stage) = 0;
  virtual void orthogonalize(std::span<Matrix> batch, const OrthogonalizeStage& stage) = 0;
  /// O <- the momentum itself: what is left when the orthogonalization is left out.
  virtual void keep_momentum(std::span<Matrix> batch) = 0;
  virtual void row_scale(std::span<Matrix> batch, const RowScaleStage& stage) = 0;
  virtual void keep_rows(std::span<Matrix> batch, bool norm_needed) = 0;
  virtual void calibrate(std::span<Matrix> batch, const CalibrateStage& stage, double lr) = 0;
  virtual void trust_region(std::span<Matrix> batch, const TrustRegionStage& stage) = 0;
  virtual void apply(std::span<Matrix> batch, double decay) = 0;

  /// Whole steps of the rules that are not pipelines.
  virtual void adamw(std::span<Matrix> batch, const AdamWOptions& options) = 0;
  virtual void dion(std::span<Matrix> batch, const DionOptions& options) = 0;
};

/// A device: cuts a list of matrices into batches as suits it and has each stepped.
class Backend {
 public:
  virtual ~Backend() = default;
  using Step = std::function<void(Stages& stages, std::span<Matrix> batch)>;
  /// On the device's stream, where it has such; returns without waiting for it.
  virtual void run(std::span<Matrix> matrices, const Step& step, void* stream) = 0;
  /// Gives this step's scalars to steps of the same list that the caller has recorded. Comes after what is
  /// on the stream. Check first: it throws Error if they cannot take them.
  virtual void check_recorded(std::span<Matrix> matrices, const Step& step, void* stream) = 0;
  virtual void refresh_recorded(std::span<Matrix> matrices, const Step& step, void* stream) = 0;
  /// out[i] <- NS(in[i]), all of one shape, in of one dtype and out of one of the same compute type.
  /// Comes after what is on the stream and returns when it is done.
  virtual void orthogonalize(std::span<const MatrixView> in, std::span<const MatrixView> out,
                             const OrthogonalizeStage& stage, void* stream) = 0;
  virtual std::size_t workspace_bytes() const = 0;
  /// Fills the diagnostics of `count` matrices of a list that was given to run(), where the step has
  /// left that for later. Waits for the device.
  virtual void diagnose(std::span<Matrix> matrices, std::size_t first, std::size_t count) = 0;
  /// Throws Error if this device cannot do what the options ask for.
  virtual void check(const Options& options) const = 0;

  // The device's memory. Copies wait until they are done.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void read(const void* from, void* host, std::size_t bytes) = 0;
  virtual void write(const void* host, void* to, std::size_t bytes) = 0;
};

std::unique_ptr<Backend> make_cpu_backend();

/// libtrasmuon_cuda.so exports one of these as trasmuon_cuda_backend; the caller owns the result.
using CudaBackendFactory = Backend* (*)(int device);

}  // namespace trasmuon
