// SPDX-License-Identifier: Apache-2.0
#include "tcp_traffic.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace trasmuon::bench {

std::int64_t tcp_bytes_sent() {
  std::int64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    tcp_info info{};
    socklen_t size = sizeof info;
    const int descriptor = std::stoi(entry.path().filename().string());
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;  // not a TCP connection
    if (size >= offsetof(tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent)   // Linux 4.19
      sum += static_cast<std::int64_t>(info.tcpi_bytes_sent);
  }
  return sum;
}

}  // namespace trasmuon::bench
