// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "lab/data/sample_random.h"

namespace trasmuon::lab {

// Mixup of a batch: image i becomes share * image i + (1 - share) * image (count - 1 - i), and so do the labels.

/// Draws the share from Beta(alpha, alpha), alpha > 0.
double mixup_share(double alpha, SampleRandom& random);

/// Mixes a batch of `count` images of equal size in place.
void mix_images(std::span<float> batch, std::int64_t count, double share);

/// Writes count x classes weights, each row summing to 1: the labels smoothed (1 - smoothing for the label, plus
/// smoothing / classes for every class) and mixed. share = 1: without Mixup; smoothing = 0: without smoothing.
/// Throws Error if a label is not in [0, classes).
void label_weights(std::span<const std::int64_t> labels, std::int64_t classes, double smoothing, double share,
                   std::span<float> weights);

}  // namespace trasmuon::lab
