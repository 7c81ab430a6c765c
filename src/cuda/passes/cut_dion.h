// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "cuda/passes/dion.h"

// What Dion's step of matrices whose rows are on several ranks has besides the kernels of passes/dion.h. Offsets are in
// bytes, in the buffers of the step (stages/cut_step.h). No state is written before enqueue_cut_dion_commit.
namespace trasmuon::cuda {

struct CutDionMatrix {
  std::size_t tally;             ///< index of its double among the sums
  std::size_t packed, returned;  ///< of this rank's rows of B; of the answer: its rows of P, then R^T
};

/// Some rows of an owned matrix that one rank has sent.
struct DionRows {
  int matrix, first, count;  ///< first: row of the whole matrix
  int index;                 ///< number within the matrix
  std::size_t gathered;      ///< of these rows of B
  std::size_t answer;        ///< of these rows of P
};

/// A rank to which the owner of a matrix sends R^T.
struct DionAnswer {
  int matrix;
  std::size_t r;  ///< of R^T
};

struct OwnedDion {
  const DionRows* rows;
  const DionAnswer* answers;
  int row_count, answer_count;
};

/// Writes the tally of this rank's rows, after enqueue_admit_check.
void enqueue_cut_dion_tally(const StepTables& step, const CutDionMatrix* cut, double* sums, cudaStream_t stream);
/// Decides which matrices are stepped, from the tallies of all ranks.
void enqueue_cut_dion_admit(const StepTables& step, const CutDionMatrix* cut, const double* sums, cudaStream_t stream);
/// Packs the rows of B = M + G.
void enqueue_cut_dion_pack(const StepTables& step, const CutDionMatrix* cut, std::byte* rows, cudaStream_t stream);

/// Puts the gathered rows together to B, with the partial sums of its squares; zeros for a matrix that is not stepped.
void enqueue_cut_dion_gather(const StepTables& step, const DionMatrix* dion, const OwnedDion& owned,
                             const std::byte* gathered, cudaStream_t stream);
/// Writes rows of P and R^T for every rank.
void enqueue_cut_dion_answer(const StepTables& step, const DionMatrix* dion, const OwnedDion& owned, int max_rank,
                             std::byte* directions, cudaStream_t stream);

/// Counts the step, sets eta^, and unpacks the owner's answer.
void enqueue_cut_dion_commit(const StepTables& step, const CutDionMatrix* cut, const DionMatrix* dion, int max_rank,
                             const double* sums, const std::byte* returned, cudaStream_t stream);

}  // namespace trasmuon::cuda
