// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lab/pinn/sampling.h"

namespace trasmuon::lab {
namespace {

int count_inside(const Points& points, const Patch& patch) {
  int count = 0;
  for (std::size_t i = 0; i < points.size(); i += 2) count += patch.contains(points[i], points[i + 1]);
  return count;
}

TEST(Patches, AreThoseOfThePaper) {
  ASSERT_EQ(kPatches.size(), 12u);
  for (std::size_t i = 0; i < kPatches.size(); ++i) {
    const auto& [x0, x1, y0, y1] = kPatches[i];
    const double side = i < 4 ? 0.03 : 0.05;
    EXPECT_NEAR(x1 - x0, side, 1e-12) << i;
    EXPECT_NEAR(y1 - y0, side, 1e-12) << i;
    EXPECT_TRUE(x0 >= 0 && y0 >= 0 && x1 <= 1 && y1 <= 1) << i;
    const int edges = (x0 == 0) + (x1 == 1) + (y0 == 0) + (y1 == 1);
    EXPECT_EQ(edges, i < 4 ? 2 : i < 8 ? 1 : 0) << i;
  }
  EXPECT_TRUE(kPatches[8].contains(0.2, 0.25) && kPatches[9].contains(0.5, 0.1));
  EXPECT_TRUE(kPatches[10].contains(0.1, 0.6) && kPatches[11].contains(0.65, 0.6));
}

TEST(Patches, AreChosenByStepAndPatchSeedAlone) {
  const std::vector<int> expected = {4, 1, 11, 1, 2, 0, 1, 9, 8, 10};  // splitmix64(1000), (1020), ... mod 12
  for (int i = 0; i < 10; ++i) EXPECT_EQ(patch_of_step(1000 + 20 * i, 0), expected[i]) << i;
  EXPECT_EQ(patch_of_step(0, 0), static_cast<int>(0xe220a8397b1dcdafull % 12));  // its published first output for 0
}

std::vector<int> sequence(std::uint64_t patch_seed) {
  std::vector<int> patches;
  for (int step = 1000; step < 4000; step += 20) patches.push_back(patch_of_step(step, patch_seed));
  return patches;
}

TEST(Patches, EveryPatchSeedHasItsOwnSequence) {
  std::set<std::vector<int>> sequences;
  for (std::uint64_t patch_seed = 0; patch_seed < 20; ++patch_seed) sequences.insert(sequence(patch_seed));
  EXPECT_EQ(sequences.size(), 20u);
}

TEST(Patches, AllOccurInAFullRun) {
  for (std::uint64_t patch_seed = 0; patch_seed < 10; ++patch_seed) {
    const std::vector<int> patches = sequence(patch_seed);
    EXPECT_EQ(std::set<int>(patches.begin(), patches.end()).size(), kPatches.size()) << patch_seed;
  }
}

TEST(Sampling, TheShareInThePatchIsExact) {
  Random random(5);
  const Patch& patch = kPatches[0];  // a uniform point falls into it once in 1111
  EXPECT_EQ(count_inside(interior_points(random, 1024, patch, 0.95), patch), 973);
  EXPECT_EQ(count_inside(interior_points(random, 1024, patch, 1), patch), 1024);
  EXPECT_LE(count_inside(interior_points(random, 1024, patch, 0), patch), 6);
  EXPECT_EQ(interior_points(random, 1, patch, 0.95).size(), 2u);
}

TEST(Sampling, InteriorPointsCoverTheSquare) {
  Random random(5);
  const Points points = interior_points(random, 4000);
  EXPECT_EQ(count_inside(points, kUnitSquare), 4000);
  for (const double x : {0.0, 0.5}) {
    for (const double y : {0.0, 0.5}) EXPECT_NEAR(count_inside(points, {x, x + 0.5, y, y + 0.5}), 1000, 110);
  }
}

TEST(Sampling, BoundaryPointsLieOnAllFourSides) {
  Random random(5);
  const Points points = boundary_points(random, 400);
  ASSERT_EQ(points.size(), 800u);
  int sides[4] = {};
  for (std::size_t i = 0; i < points.size(); i += 2) {
    const double x = points[i], y = points[i + 1];
    EXPECT_TRUE(kUnitSquare.contains(x, y));
    EXPECT_TRUE(x == 0 || x == 1 || y == 0 || y == 1) << x << ' ' << y;
    ++sides[y == 0 ? 0 : y == 1 ? 1 : x == 0 ? 2 : 3];
  }
  for (const int count : sides) EXPECT_NEAR(count, 100, 35);
}

TEST(Sampling, OutsidePointsAvoidThePatch) {
  Random random(5);
  const Patch half{0, 0.5, 0, 1};
  const Points points = outside_points(random, 300, half);
  EXPECT_EQ(points.size(), 600u);
  EXPECT_EQ(count_inside(points, half), 0);
  EXPECT_EQ(count_inside(points, kUnitSquare), 300);
}

TEST(Sampling, AGridHasItsCorners) {
  const Points expected = {0.1, 0.5, 0.1, 0.75, 0.1, 1, 0.2, 0.5, 0.2, 0.75, 0.2, 1, 0.3, 0.5, 0.3, 0.75, 0.3, 1};
  const Points points = grid_points({0.1, 0.3, 0.5, 1}, 3);
  ASSERT_EQ(points.size(), expected.size());
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_NEAR(points[i], expected[i], 1e-15) << i;
}

}  // namespace
}  // namespace trasmuon::lab
