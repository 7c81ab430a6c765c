// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "stages/elementwise.h"
#include "stages/matrix.h"
#include "stages/plan.h"
#include "trasmuon/sharded_step.h"

// A step of matrices whose rows are on several ranks, as one of the ranks sees it. Between its phases the caller sums
// and exchanges the buffers named here; docs/distributed.md has the whole picture. Nothing but the buffers and scratch
// is written before the last phase.
namespace trasmuon {

/// Each phase is one call of the public API. What it writes, and what is done to that before the next:
///   momentum       sums: added up over the ranks
///   pack           rows: go to their owners
///   orthogonalize  directions: rows of O go back; Dion's are of P, with all of R
///   row_scale      norms: added up over the ranks
///   apply          state and weights
using CutPhase = StepPhase;

/// Rows of one rank in an owner's buffers.
struct PackedRows {
  std::size_t offset = 0;  ///< of its rows among those gathered, in bytes
  std::size_t answer = 0;  ///< of what goes back to it
  std::int64_t first = 0;  ///< row of the whole matrix
  std::int64_t count = 0;
};

struct CutMatrix {
  Matrix* rows = nullptr;              ///< this rank's rows, perhaps none, and their state
  const MuonPipeline* plan = nullptr;  ///< of this step; null: Dion's
  const DionOptions* dion = nullptr;   ///< of this step; null: a pipeline's
  DType wire = DType::f32;             ///< of packed rows
  std::size_t sums = 0;                ///< index of its first double, see sums_of
  std::size_t norms = 0;               ///< index of its first double, see norms_of
  std::size_t packed = 0;              ///< offset of this rank's rows in the rows sent
  std::size_t returned = 0;            ///< offset of what the owner sends back
  bool owned = false;                  ///< this rank orthogonalizes it
  std::vector<PackedRows> gathered;    ///< one per rank to which an owner sends something back

  // From phase to phase, in the memory of the device; of the compute type, one per row here.
  void* v_next = nullptr;
  void* row_factor = nullptr;

  std::int64_t m() const { return rows->whole_m; }
  std::int64_t n() const { return rows->n; }
};

/// Energies E_j of momentum or gradient, squared norm of the input, tally. Dion: the tally alone.
inline std::size_t sums_of(const CutMatrix& x) { return x.dion != nullptr ? 1 : static_cast<std::size_t>(x.n()) + 2; }
/// Whether E_j are of O_base, and travel with the norms.
inline bool watches_direction(const MuonPipeline& plan) {
  return plan.trust_region && plan.trust_region->energy_of == EnergyOf::direction;
}
/// ||O_base||_F^2, ||O||_F^2 and, if they are of O_base, the energies E_j.
constexpr std::size_t kNorms = 2;
inline std::size_t norms_of(const CutMatrix& x) {
  if (x.dion != nullptr) return 0;
  return kNorms + (watches_direction(*x.plan) ? static_cast<std::size_t>(x.n()) : 0);
}

/// What an owner sends back to a rank with `count` rows, in elements: its rows of O. Dion's answer is its rows of P
/// (count x rank), then R^T (rank x n), also to ranks without rows: every rank keeps Q.
inline std::int64_t answer_of(const CutMatrix& x, std::int64_t count) {
  if (x.dion == nullptr) return count * x.n();
  return (count + x.n()) * x.rows->basis.cols;
}

/// Memory that the caller lends for a step.
struct CutBuffers {
  double* sums = nullptr;
  double* norms = nullptr;
  std::byte* rows = nullptr;            ///< to the owners
  const std::byte* gathered = nullptr;  ///< at the owner
  std::byte* directions = nullptr;      ///< answers of the owner
  const std::byte* returned = nullptr;  ///< at the ranks
};

/// What a backend keeps for a step besides; it belongs to the device that the step was prepared on.
class CutScratch {
 public:
  virtual ~CutScratch() = default;
};

struct CutStep {
  std::vector<CutMatrix> matrices;
  CutBuffers buffers;
  std::unique_ptr<CutScratch> scratch;
};

// ---- Tally -------------------------------------------------------------------------------------------------------
// Counts over ranks in one double, exact for up to 65,535 ranks: ranks with an unusable gradient, ranks with rows but
// without a gradient, ranks with a gradient.

constexpr double kUnusable = 1, kMissing = 0x1p16, kPresent = 0x1p32;

/// What a rank adds to the tally.
TRASMUON_FORMULA double tally_of(bool has_rows, bool has_gradient, bool unusable) {
  if (!has_rows) return 0;
  if (!has_gradient) return kMissing;
  return kPresent + (unusable ? kUnusable : 0);
}

/// What happens to a matrix on all ranks alike.
struct Verdict {
  bool active;   ///< it is stepped
  bool refused;  ///< it is skipped: entries of its gradient are unusable, or on some ranks missing
};

TRASMUON_FORMULA Verdict verdict_of(double tally) {
  const bool present = tally >= kPresent;
  const double rest = tally - floor(tally / kPresent) * kPresent;
  return {present && rest == 0, present && rest != 0};
}

// ---- Packed rows -------------------------------------------------------------------------------------------------

/// Packed 16-bit rows are multiplied by a power of two that brings their RMS near 1/8, the middle of the range of f16.
constexpr int kPackedExponent = -3;

/// The exponent of that power for a matrix with this RMS; 0 where rows are not rounded, or there is nothing to scale.
TRASMUON_FORMULA int packed_exponent(double rms, DType wire) {
  const bool rounded = wire == DType::f16 || wire == DType::bf16;
  return rounded && rms >= double{FLT_MIN} && rms <= kLargestNumber<double> ? kPackedExponent - ilogb(rms) : 0;
}

TRASMUON_FORMULA int packed_input_exponent(double input_squares, std::int64_t m, std::int64_t n, DType wire) {
  return packed_exponent(sqrt(input_squares / (static_cast<double>(m) * static_cast<double>(n))), wire);
}

/// An orthogonal m x n matrix has RMS 1 / sqrt(max(m, n)).
TRASMUON_FORMULA int packed_direction_exponent(std::int64_t m, std::int64_t n, DType wire) {
  return packed_exponent(1 / sqrt(static_cast<double>(m > n ? m : n)), wire);
}

}  // namespace trasmuon
