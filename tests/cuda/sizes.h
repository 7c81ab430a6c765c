// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "trasmuon/tensor.h"

// How much the tests do: sizes.cpp says it for GPUs, tests/host_cuda/sizes.cpp for the host, which is slower.
namespace trasmuon::test {

struct Item {
  Shape shape;
  bool transposed = false;
  std::vector<std::int64_t> row_blocks = {};
};

/// Odd shapes, thin ones, more than one chunk of rows and of columns, storage [in, out], blocks, experts, convolutions.
std::vector<Item> mixed_items();

/// How many steps to take of those that a GPU takes; not fewer than 6, if it takes as many. On a GPU
/// TRASMUON_MOST_STEPS limits them.
int steps_of(int on_gpu);

}  // namespace trasmuon::test
