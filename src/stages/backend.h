// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "stages/cut_step.h"
#include "stages/matrix.h"
#include "stages/plan.h"

namespace trasmuon {

/// A device that carries out plans. A list of matrices is identified by its address: the optimizer passes the same list
/// at every step, with matrices of the same shapes.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Takes all memory that run() needs for this list and plan, and changes nothing else. A step prepares all its lists
  /// before it runs the first, so that running out of memory leaves everything as it was.
  virtual void prepare(std::span<Matrix> matrices, const Plan& plan, void* stream) = 0;
  /// Steps every matrix that has a gradient. Call prepare() with the same arguments first. A device with streams
  /// enqueues the work on `stream` and returns without waiting.
  virtual void run(std::span<Matrix> matrices, const Plan& plan, void* stream) = 0;

  /// The same for matrices whose rows are on several ranks, phase by phase. The plans and gradients of all phases of a
  /// step are those that it was prepared with. Prepare the lists of whole matrices first: they share scratch.
  virtual void prepare_cut(CutStep& step, void* stream) = 0;
  virtual void run_cut(CutPhase phase, CutStep& step, void* stream) = 0;

  /// Updates the scalars of this list's steps inside graphs that the caller has captured. Ordered after the work on
  /// the stream. Call check_recorded first: it throws Error if a captured step cannot take this plan.
  virtual void check_recorded(std::span<Matrix> matrices, const Plan& plan, void* stream) = 0;
  virtual void refresh_recorded(std::span<Matrix> matrices, const Plan& plan, void* stream) = 0;

  /// Computes out[i] <- NS(in[i]). All matrices have the same shape; `in` has one dtype, and `out` has one dtype with
  /// the same compute type. Ordered after the work on the stream; returns when the result is ready.
  virtual void orthogonalize(std::span<const MatrixView> in, std::span<const MatrixView> out,
                             const OrthogonalizeStage& stage, void* stream) = 0;

  /// Fills in the diagnostics of `count` matrices of a list given to run(), where the step itself has not. Waits for
  /// the device.
  virtual void diagnose(std::span<Matrix> matrices, std::size_t first, std::size_t count) = 0;

  /// Throws Error if this device cannot do what the options ask for.
  virtual void check(const Options& options) const = 0;
  /// Throws Error if it does not iterate in this precision; `field` names who asks ("muon: ns_precision").
  virtual void check_precision(NewtonSchulzPrecision precision, const std::string& field) const = 0;
  virtual std::size_t workspace_bytes() const = 0;

  // The device's memory. Copies return when they are done.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void read(const void* from, void* host, std::size_t bytes) = 0;
  virtual void write(const void* host, void* to, std::size_t bytes) = 0;
};

std::unique_ptr<Backend> make_cpu_backend();

/// libtrasmuon_cuda.so exports a function of this type as trasmuon_cuda_backend; the caller owns the result.
using CudaBackendFactory = Backend* (*)(int device);

}  // namespace trasmuon
