// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/ranks.h"

namespace trasmuon::test {

/// Matrices, fused blocks, experts, convolutions, a single row, AdamW beside them, and a parameter that is not sharded.
inline std::vector<WholeParameter> mixed_model() {
  return {{.name = "plain", .shape = {13, 8}},
          {.name = "qkv", .shape = {24, 10}, .row_blocks = {7, 5, 12}},
          {.name = "experts", .shape = {5, 6, 4}},
          {.name = "convolution", .shape = {9, 3, 2, 2}},
          {.name = "one row", .shape = {1, 6}},
          {.name = "tall", .shape = {31, 3}},
          {.name = "whole", .shape = {6, 7}, .sharded = false},
          {.name = "embedding", .shape = {10, 4}, .group = 1},
          {.name = "bias", .shape = {11}, .group = 1}};
}

template <class T, class G>
double largest_difference(Ranks<T, G>& world) {
  double largest = 0;
  for (std::size_t p = 0; p < world.model().size(); ++p) {
    const std::vector<T> ours = world.weight(p);
    for (std::size_t i = 0; i < ours.size(); ++i)
      largest = std::max(largest, std::abs(to_double(ours[i]) - to_double(world.whole_weights[p][i])));
  }
  return largest;
}

/// Steps with a burst of one column now and then, so that there is something to damp.
template <class T, class G>
void train(Ranks<T, G>& world, int steps) {
  std::mt19937_64 rng(11);
  for (int step = 0; step < steps; ++step) {
    auto gradients = world.random_gradients(rng);
    if (step % 9 == 4) {
      for (std::size_t i = 3; i < gradients[0].size(); i += 8) gradients[0][i] = G(40) * gradients[0][i];
    }
    world.step_whole(gradients);
    world.step(gradients);
  }
}

}  // namespace trasmuon::test
