// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lab/training/task.h"

namespace trasmuon::lab {

/// A regression with an embedding, two hidden matrices, a norm, dropout and a head, for tests of the training loop.
/// The loss is not finite from step `breaks_at` on.
std::unique_ptr<Task> tiny_task(std::uint64_t seed, int micro_batch, double dropout = 0.1, int breaks_at = -1);

}  // namespace trasmuon::lab
