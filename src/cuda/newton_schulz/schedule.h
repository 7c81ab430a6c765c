// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cuda/newton_schulz/products.h"

// The order in which the blocks of one launch take the tiles of many products. A counter per matrix replaces the
// boundaries between launches: see docs/decisions/0005-one-launch-with-counters.md. Plain arithmetic, tested without a
// GPU.
namespace trasmuon::cuda {

/// The products of matrices of one shape. Products of one phase do not depend on each other; each phase depends on the
/// previous one.
struct ProductSequence {
  int batch = 0;
  std::vector<std::vector<Product>> phases;
};

/// Cuts the list of matrices into windows of these sizes. Each window reuses the slots of the previous one.
struct Windows {
  std::vector<int> sizes;
  int slots = 0;
};

/// Windows large enough that one phase keeps the multiprocessors busy, and small enough that the operands of the next
/// phase are still in the cache. `short_sides`: of each matrix, in order.
Windows choose_windows(const std::vector<int>& short_sides, int multiprocessors);

struct Schedule {
  std::vector<Tile> tiles;
  int counters = 0;
};

/// Maps are numbered sequence by sequence, phase by phase.
Schedule make_schedule(const std::vector<ProductSequence>& sequences, const Windows& windows);

}  // namespace trasmuon::cuda
