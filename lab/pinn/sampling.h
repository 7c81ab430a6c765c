// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lab/study/random.h"

// Where the Helmholtz study samples [0, 1]^2.
namespace trasmuon::lab {

struct Patch {
  double x0, x1, y0, y1;
  bool contains(double x, double y) const { return x >= x0 && x <= x1 && y >= y0 && y <= y1; }
};

inline constexpr Patch kUnitSquare{0, 1, 0, 1};

/// The paper's pool of regions of interest: 4 corners, 4 edges, 4 in the interior, in the order of its table.
inline constexpr std::array<Patch, 12> kPatches{{{0.00, 0.03, 0.00, 0.03},
                                                 {0.97, 1.00, 0.00, 0.03},
                                                 {0.00, 0.03, 0.97, 1.00},
                                                 {0.97, 1.00, 0.97, 1.00},
                                                 {0.48, 0.53, 0.00, 0.05},
                                                 {0.48, 0.53, 0.95, 1.00},
                                                 {0.00, 0.05, 0.48, 0.53},
                                                 {0.95, 1.00, 0.48, 0.53},
                                                 {0.20, 0.25, 0.20, 0.25},
                                                 {0.45, 0.50, 0.10, 0.15},
                                                 {0.10, 0.15, 0.55, 0.60},
                                                 {0.60, 0.65, 0.60, 0.65}}};

/// The patch of an event at this step, as an index into kPatches: splitmix64(step + 2^32 patch_seed) mod 12 (Steele,
/// Lea, Flood 2014). The method does not matter, so all methods meet the same sequence.
int patch_of_step(int step, std::uint64_t patch_seed);

/// x0, y0, x1, y1, ...
using Points = std::vector<double>;

/// round(fraction * count) points of the patch, then the rest from the whole square; uniform in each.
Points interior_points(Random& random, int count, const Patch& patch = kUnitSquare, double fraction = 0);
Points boundary_points(Random& random, int count);                     ///< uniform along the square's edge
Points outside_points(Random& random, int count, const Patch& patch);  ///< uniform in the square less the patch
Points grid_points(const Patch& patch, int side);                      ///< side x side, corners included, y fastest

}  // namespace trasmuon::lab
