// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cuda/products.h"

// In which order a step is worked through where products and passes run side by side: two lists,
// each taken from the front, with counters between them. Plain arithmetic: it is tested without a GPU.
namespace trasmuon::cuda {

/// What the matrices of one shape go through: products of one phase do not depend on each other,
/// and all of them on the phase before.
struct ProductSequence {
  int batch = 0;
  int rows = 0, cols = 0;  ///< as stored
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
  std::vector<PassItem> items;
  int counters = 0;
};

/// Maps are numbered sequence by sequence, phase by phase. `fused`: the passes over G, M and W too.
Schedule make_schedule(const std::vector<ProductSequence>& sequences, const Windows& windows, bool fused,
                       int multiprocessors);

}  // namespace trasmuon::cuda
