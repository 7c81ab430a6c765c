// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trasmuon::lab {

/// Returns the CUDA_VISIBLE_DEVICES with which a rank sees one GPU, its own: entry `rank` of `visible`, the value so
/// far, or the rank's number if that is null (unset). Throws Error if there are fewer entries than ranks.
std::string gpu_of_rank(const char* visible, int rank, int count);

/// Lets this process, which must not have used a GPU yet, see only that of its rank.
void show_gpu_of_rank(int rank, int count);

}  // namespace trasmuon::lab
