// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/sampling.h"

#include <cmath>

namespace trasmuon::lab {
namespace {

std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t z = state + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void add_point(Points& points, Random& random, const Patch& patch) {
  points.push_back(patch.x0 + (patch.x1 - patch.x0) * random.uniform());
  points.push_back(patch.y0 + (patch.y1 - patch.y0) * random.uniform());
}

}  // namespace

int patch_of_step(int step, std::uint64_t patch_seed) {
  constexpr int kStepBits = 32;
  return static_cast<int>(splitmix64(static_cast<std::uint64_t>(step) ^ (patch_seed << kStepBits)) % kPatches.size());
}

Points interior_points(Random& random, int count, const Patch& patch, double fraction) {
  const int inside = static_cast<int>(std::lround(fraction * count));
  Points points;
  points.reserve(2 * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) add_point(points, random, i < inside ? patch : kUnitSquare);
  return points;
}

Points boundary_points(Random& random, int count) {
  Points points;
  for (int i = 0; i < count; ++i) {
    const double along = 4 * random.uniform(), t = along - std::floor(along);
    switch (static_cast<int>(along)) {
      case 0: points.insert(points.end(), {t, 0}); break;
      case 1: points.insert(points.end(), {t, 1}); break;
      case 2: points.insert(points.end(), {0, t}); break;
      default: points.insert(points.end(), {1, t}); break;
    }
  }
  return points;
}

Points outside_points(Random& random, int count, const Patch& patch) {
  Points points;
  while (static_cast<int>(points.size()) < 2 * count) {
    const double x = random.uniform(), y = random.uniform();
    if (!patch.contains(x, y)) points.insert(points.end(), {x, y});
  }
  return points;
}

Points grid_points(const Patch& patch, int side) {
  Points points;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      points.insert(points.end(),
                    {std::lerp(patch.x0, patch.x1, i / (side - 1.0)), std::lerp(patch.y0, patch.y1, j / (side - 1.0))});
  return points;
}

}  // namespace trasmuon::lab
