// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon::cpu {

/// Returns whether this process may use AMX tiles of bf16; asks the kernel for permission, which threads and children
/// inherit.
bool amx_usable();

}  // namespace trasmuon::cpu
