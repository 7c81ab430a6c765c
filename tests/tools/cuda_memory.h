// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "support/memory.h"

namespace trasmuon::test {

/// Memory on cuda:0. Throws in a build without CUDA (missing_cuda_memory.cpp).
std::unique_ptr<Memory> make_cuda_memory();

}  // namespace trasmuon::test
