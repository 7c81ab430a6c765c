// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// Replaces operator new of this executable.
namespace trasmuon::test {

constexpr std::size_t kNever = static_cast<std::size_t>(-1);

/// Lets the allocation after `count` more of this thread fail, once; kNever: none.
void fail_allocation_after(std::size_t count);
bool allocation_failed();  ///< since the last call of fail_allocation_after

std::size_t live_bytes();  ///< of all threads
std::size_t peak_bytes();  ///< since reset_peak
void reset_peak();

}  // namespace trasmuon::test
