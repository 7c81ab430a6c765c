// SPDX-License-Identifier: Apache-2.0
#include "lab/data/gzip.h"

#include "lab/data/inflate.h"
#include "lab/data/mapped_file.h"

namespace trasmuon::lab {

std::vector<std::uint8_t> read_maybe_compressed(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const auto bytes = mapped.bytes();
  if (bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) return inflate_gzip(bytes, file.string());
  return {bytes.begin(), bytes.end()};
}

}  // namespace trasmuon::lab
