// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cuda/products.h"

// In which order the tiles of many products are worked through, by whoever is free, with a counter
// for each matrix in place of one launch after the other. Plain arithmetic: it is tested without a GPU.
namespace trasmuon::cuda {

/// What the matrices of one shape go through: products of one phase do not depend on each other,
/// and all of them on the phase before.
struct ProductSequence {
  int batch = 0;
  std::vector<std::vector<Product>> phases;
};

/// Matrices in order, so many to a window: the slots of a window are taken over by the next.
struct Windows {
  std::vector<int> sizes;
  int slots = 0;
};

/// So many matrices at a time that a phase of theirs keeps the multiprocessors busy while the next
/// phase's operands are still in the cache. `short_sides`: of each matrix, in order.
Windows choose_windows(const std::vector<int>& short_sides, int multiprocessors);

struct Schedule {
  std::vector<Tile> tiles;
  int counters = 0;
};

/// Maps are numbered sequence by sequence, phase by phase.
Schedule make_schedule(const std::vector<ProductSequence>& sequences, const Windows& windows);

}  // namespace trasmuon::cuda
