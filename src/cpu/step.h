// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "cpu/scratch.h"
#include "stages/matrix.h"
#include "stages/plan.h"

// The step of one matrix on the CPU. Every stage is a function in the file of its name; T is the compute type. A stage
// uses all threads, unless it is called inside a parallel region.
namespace trasmuon::cpu {

struct WorkspaceBytes {
  std::size_t step = 0, stage = 0;

  void include(const WorkspaceBytes& other) {
    step = std::max(step, other.step);
    stage = std::max(stage, other.stage);
  }
};

/// Scratch memory of one thread, reused from matrix to matrix.
struct Workspace {
  Scratch step;   ///< what lives through a step: Intermediates
  Scratch stage;  ///< what lives through one stage

  void reserve(const WorkspaceBytes& bytes) {
    step.reserve(bytes.step);
    stage.reserve(bytes.stage);
  }
  std::size_t bytes() const { return step.capacity() + stage.capacity(); }
};

/// What the stages of a step hand on to each other.
template <class T>
struct Intermediates {
  MatrixView direction;          ///< O, stored like the weight
  MatrixView input;              ///< of the orthogonalization: the momentum, or Nesterov's look-ahead
  double* column_energy;         ///< n: E_j
  double* row_squares;           ///< m: sum_j O_ij^2
  T* row_factor;                 ///< m: what row i of O is multiplied by; null: 1
  T* c;                          ///< n: the damping; null: 1
  double* energy_copy;           ///< n: for the trust region to reorder
  double input_squares = 0;      ///< squared Frobenius norm of `input`
  double direction_squares = 0;  ///< ||O||_F^2
  double base_squares = 0;       ///< ||O_base||_F^2
  double eta_hat = 0;
};

/// Takes memory for the stages of this plan from `scratch`.
template <class T>
Intermediates<T> intermediates(const Matrix& x, const MuonPipeline& plan, Scratch& scratch);

/// What step() needs for this matrix. With a workspace of this size it allocates nothing, so it cannot fail.
WorkspaceBytes workspace_bytes(const Plan& plan, const Matrix& x);
/// Carries out a plan on one matrix.
void step(const Plan& plan, Matrix& x, Workspace& workspace);
/// Carries out one phase of a pipeline on a matrix for which admit() returned true. A whole step is admit() and all
/// phases in order.
template <class T>
void run_phase(Phase phase, const MuonPipeline& plan, const Matrix& x, Intermediates<T>& s, Scratch& scratch);

/// Returns whether the matrix is stepped: it has a gradient and, if `skip_nonfinite`, the gradient is finite and not
/// too large. Counts the step or the skipped step.
template <class T>
bool admit(const Matrix& x, bool skip_nonfinite);

/// Whether all entries of a gradient are finite and not too large. An empty one is usable.
template <class T>
bool all_usable(const MatrixView& gradient);

template <class T>
void momentum(const Matrix& x, const MomentumStage& stage, Intermediates<T>& s, Scratch& scratch);
template <class T>
void orthogonalize(const OrthogonalizeStage& stage, Intermediates<T>& s, Scratch& scratch);
/// Computes out (packed) <- NS(scale * in) in the stage's form and precision. `in`, of type T, must not overlap `out`.
template <class T>
void iterate(const MatrixView& in, double scale, const OrthogonalizeStage& stage, T* out, Scratch& scratch);
/// Copies the input to O, for plans that do not orthogonalize.
template <class T>
void copy_input(Intermediates<T>& s);
template <class T>
void row_scale(const Matrix& x, const RowScaleStage& stage, Intermediates<T>& s, Scratch& scratch);
/// Sets all row factors to 1, for plans that do not scale rows.
template <class T>
void unit_rows(const Matrix& x, bool norm_needed, Intermediates<T>& s, Scratch& scratch);
template <class T>
void calibrate(const Matrix& x, const CalibrateStage& stage, double lr, Intermediates<T>& s);
/// Replaces the energies of the momentum by those of the gradient, or of O_base.
template <class T>
void gradient_energy(const Matrix& x, Intermediates<T>& s, Scratch& scratch);
template <class T>
void direction_energy(const Matrix& x, Intermediates<T>& s, Scratch& scratch);
template <class T>
void trust_region(const Matrix& x, const TrustRegionStage& stage, Intermediates<T>& s);
template <class T>
void apply(const Matrix& x, double decay, const Intermediates<T>& s, Scratch& scratch);

// The steps of the rules that are not pipelines.
template <class T>
void adamw(const Matrix& x, const AdamWOptions& options, Scratch& scratch);
template <class T>
void dion(const Matrix& x, const DionOptions& options, Workspace& workspace);

// Bytes of stage scratch that these take.
std::size_t momentum_scratch(const Matrix& x);
template <class T>
std::size_t iterate_scratch(std::int64_t rows, std::int64_t cols, const OrthogonalizeStage& stage);
std::size_t row_scale_scratch(const Matrix& x);
template <class T>
std::size_t energy_scratch(const Matrix& x);
template <class T>
std::size_t apply_scratch(const Matrix& x);
std::size_t adamw_scratch(const Matrix& x);
template <class T>
std::size_t dion_scratch(const Matrix& x);

/// out <- NS(in), outside any step. `out` is not written before all memory is there.
void orthogonalize(const MatrixView& in, const MatrixView& out, const OrthogonalizeStage& stage, Workspace& workspace);

}  // namespace trasmuon::cpu
