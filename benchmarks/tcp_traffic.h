// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon::bench {

/// Returns how many bytes this process has sent over its open TCP connections so far, as the kernel counts them:
/// what the application wrote, without headers, and what was sent again.
std::int64_t tcp_bytes_sent();

}  // namespace trasmuon::bench
