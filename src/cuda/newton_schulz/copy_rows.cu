// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/copy_rows.h"

#include "cuda/runtime/launch.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = 256;

/// One block per row.
template <class Word>
__global__ void __launch_bounds__(kThreads) copy_rows(Word* to, const Word* from, int cols, std::int64_t stride) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * stride;
  for (int j = static_cast<int>(threadIdx.x); j < cols; j += kThreads) to[row + j] = from[row + j];
}

}  // namespace

void enqueue_copy_rows(void* to, const void* from, DType dtype, std::int64_t rows, int cols, std::int64_t stride,
                       cudaStream_t stream) {
  const auto run = [&]<class Word>(Word) {
    launch(copy_rows<Word>, static_cast<unsigned>(rows), kThreads, stream, static_cast<Word*>(to),
           static_cast<const Word*>(from), cols, stride);
  };
  switch (size_of(dtype)) {
    case 8: run(std::uint64_t{}); break;
    case 4: run(std::uint32_t{}); break;
    default: run(std::uint16_t{}); break;
  }
}

}  // namespace trasmuon::cuda
