// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/passes/input_scale.h"
#include "cuda/passes/step_data.h"

// The passes of a step on matrices whose rows are on several ranks (stages/cut_step.h), beside those of passes.h that
// it shares with a whole step. No state is written before enqueue_cut_commit.
namespace trasmuon::cuda {

/// What a cut matrix has besides its DeviceMatrix, whose `input` and `direction` are its packed rows and whose `energy`
/// is its part of the sums.
struct CutDeviceMatrix {
  double *sums, *norms;
  void* v_next;
  DType wire;  ///< of the packed rows; the compute type where they stay here
  bool operator==(const CutDeviceMatrix&) const = default;
};

struct CutTables {
  StepTables step;
  const CutDeviceMatrix* cut;
};

/// Adds up the partial sums of this rank's rows, and writes the tally.
void enqueue_cut_sums(const CutTables& tables, cudaStream_t stream);
/// Decides which matrices are stepped, from the sums over all ranks, and packs the rows of the input.
void enqueue_cut_pack(const CutTables& tables, cudaStream_t stream);
/// Computes the next v, the factor of each row, and this rank's part of the norms, from partial sums of squares of O.
void enqueue_cut_row_scale(const CutTables& tables, cudaStream_t stream);
/// Counts the step, and writes eta^, v and M.
void enqueue_cut_commit(const CutTables& tables, cudaStream_t stream);

/// At most kChunkRows rows of a matrix at its owner: packed rows of one rank, and where they belong in the iterates.
struct OwnedChunk {
  std::size_t offset;  ///< of the packed rows among those gathered, in bytes
  std::size_t answer;  ///< of the rows of O that go back
  void *x, *o;         ///< first row in the iteration's input and output
  std::size_t sums;    ///< index of the matrix's first sum
  std::int64_t m;
  int rows, cols, row_stride;
};

struct OwnedTables {
  const OwnedChunk* chunks;
  int chunk_count;
  const StepScalars* scalars;
  DType compute, wire;
  DType iterate;  ///< of x and o
  InputScale scale;
};

/// X <- gathered rows, scaled.
void enqueue_owned_load(const OwnedTables& tables, const std::byte* gathered, const double* sums, cudaStream_t stream);
/// Rows to be sent back <- O.
void enqueue_owned_store(const OwnedTables& tables, std::byte* directions, cudaStream_t stream);

}  // namespace trasmuon::cuda
