// SPDX-License-Identifier: Apache-2.0
#include "lab/data/inflate.h"

#include <trasmuon/error.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace trasmuon::lab {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 30;  // of a file that is decompressed into memory
constexpr int kGzipWindow = 15 + 16;                      // zlib's code for gzip headers

struct Stream : z_stream {
  Stream() : z_stream{} { ready = inflateInit2(this, kGzipWindow) == Z_OK; }
  ~Stream() { inflateEnd(this); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  bool ready;
};

}  // namespace

const bool kHasGzip = true;

std::vector<std::uint8_t> inflate_gzip(std::span<const std::uint8_t> compressed, const std::string& name) {
  Stream stream;
  if (!stream.ready) throw Error(name + ": zlib cannot start; is there memory?");
  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> part(1 << 16);
  for (;;) {
    if (stream.avail_in == 0) {
      const std::size_t offered = std::min<std::size_t>(compressed.size(), std::numeric_limits<uInt>::max());
      stream.next_in = const_cast<Bytef*>(compressed.data());
      stream.avail_in = static_cast<uInt>(offered);
      compressed = compressed.subspan(offered);
    }
    stream.next_out = part.data();
    stream.avail_out = static_cast<uInt>(part.size());
    const int state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_BUF_ERROR) throw Error(name + ": the compressed data is truncated");
    if (state != Z_OK && state != Z_STREAM_END) {
      throw Error(name + ": the compressed data is damaged" + (stream.msg ? ": " + std::string(stream.msg) : ""));
    }
    out.insert(out.end(), part.begin(), part.end() - static_cast<std::ptrdiff_t>(stream.avail_out));
    if (out.size() > kMostBytes) throw Error(name + ": decompressed files must have at most 4 GiB");
    if (state != Z_STREAM_END) continue;
    if (stream.avail_in == 0 && compressed.empty()) return out;
    inflateReset(&stream);  // another member follows
  }
}

}  // namespace trasmuon::lab
