// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/token_file.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace trasmuon::lab {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are read as they lie in memory");

struct Format {
  std::int32_t magic, version;
  int bytes_per_token;
};
constexpr Format kFormats[] = {{20240520, 1, 2}, {20240801, 7, 4}};

struct Header {
  std::int32_t magic, version, tokens;
};

/// Calls `use` with the tokens of a file in their own type.
template <class Use>
void with_tokens(std::span<const std::uint8_t> file, std::int64_t count, int bytes_per_token, Use&& use) {
  const std::uint8_t* data = file.data() + kTokenHeaderBytes;
  const auto n = static_cast<std::size_t>(count);
  if (bytes_per_token == 2) use(std::span(reinterpret_cast<const std::uint16_t*>(data), n));
  else use(std::span(reinterpret_cast<const std::uint32_t*>(data), n));
}

}  // namespace

int token_bytes(std::int64_t vocabulary) { return vocabulary <= 65536 ? 2 : 4; }

std::string token_header(std::int64_t tokens, int bytes_per_token) {
  const Format& format = kFormats[bytes_per_token == 2 ? 0 : 1];
  std::array<std::int32_t, kTokenHeaderBytes / sizeof(std::int32_t)> header{};
  header[0] = format.magic;
  header[1] = format.version;
  header[2] = static_cast<std::int32_t>(tokens);
  return {reinterpret_cast<const char*>(header.data()), static_cast<std::size_t>(kTokenHeaderBytes)};
}

TokenFile::TokenFile(const std::filesystem::path& file) : path_(file), file_(file) {
  const auto refuse = [&](const std::string& reason) { throw Error(file.string() + ": " + reason); };
  const auto bytes = static_cast<std::int64_t>(file_.bytes().size());
  if (bytes < kTokenHeaderBytes) {
    refuse(fmt::format("a token file begins with a header of {} bytes, this file has {}", kTokenHeaderBytes, bytes));
  }
  Header header{};
  std::memcpy(&header, file_.bytes().data(), sizeof header);
  const auto* format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                    [&](const Format& candidate) { return candidate.magic == header.magic; });
  if (format == std::end(kFormats)) {
    refuse(fmt::format("is not a token file: it must begin with {} (16-bit tokens) or {} (32-bit), got {}",
                       kFormats[0].magic, kFormats[1].magic, header.magic));
  }
  if (header.version != format->version) {
    refuse(fmt::format("the version of a token file with {}-bit tokens must be {}, got {}", 8 * format->bytes_per_token,
                       format->version, header.version));
  }
  if (header.tokens <= 0) refuse(fmt::format("the number of tokens must be > 0, the header says {}", header.tokens));
  const std::int64_t expected = kTokenHeaderBytes + std::int64_t{header.tokens} * format->bytes_per_token;
  if (bytes != expected) {
    refuse(fmt::format("with the {} tokens of its header the file must have {} bytes, got {}{}", header.tokens,
                       expected, bytes, bytes < expected ? ": it is truncated" : ""));
  }
  size_ = header.tokens;
  bytes_per_token_ = format->bytes_per_token;
}

void TokenFile::read(std::int64_t first, std::span<std::int64_t> out) const {
  with_tokens(file_.bytes(), size_, bytes_per_token_,
              [&](auto tokens) { std::copy_n(tokens.begin() + first, out.size(), out.begin()); });
}

void TokenFile::check_tokens(std::int64_t vocabulary) const {
  with_tokens(file_.bytes(), size_, bytes_per_token_, [&](auto tokens) {
    if (tokens.empty() || *std::max_element(tokens.begin(), tokens.end()) < vocabulary) return;
    const auto bad = std::find_if(tokens.begin(), tokens.end(), [&](auto token) { return token >= vocabulary; });
    throw Error(fmt::format("{}: tokens must be < {}, the size of the vocabulary; token {} is {}", path_.string(),
                            vocabulary, bad - tokens.begin(), *bad));
  });
}

}  // namespace trasmuon::lab
