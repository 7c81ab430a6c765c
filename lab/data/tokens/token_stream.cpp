// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/token_stream.h"

#include <fmt/format.h>
#include <glob.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <utility>

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<fs::path> files;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

/// The path as a pattern that matches only itself.
std::string literal(const fs::path& path) {
  std::string pattern;
  for (const char c : path.string()) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

std::vector<fs::path> token_files(const std::string& where, const std::string& split) {
  std::error_code error;
  if (fs::is_directory(where, error)) {
    auto files = matches(literal(where) + "/*" + split + "*.bin");
    if (files.empty()) throw Error(fmt::format("the folder {} has no token file *{}*.bin", where, split));
    return files;
  }
  if (fs::exists(where, error)) return {where};
  auto files = matches(where);
  if (files.empty()) throw Error(fmt::format("there is no token file {}", where));
  return files;
}

TokenStream::TokenStream(const std::vector<fs::path>& files, std::int64_t vocabulary) {
  for (const fs::path& file : files) {
    size_ += files_.emplace_back(std::make_unique<TokenFile>(file))->size();
    ends_.push_back(size_);
  }
  // After all headers, because this reads everything.
  for (const auto& file : files_) file->check_tokens(vocabulary);
}

TokenStream::TokenStream(std::vector<std::uint16_t> tokens)
    : memory_(std::move(tokens)), size_(static_cast<std::int64_t>(memory_.size())) {}

void TokenStream::read(std::int64_t position, std::span<std::int64_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (position < 0 || count > size_ || position > size_ - count) {
    throw Error(fmt::format("tokens {} to {} were asked for, there are {}", position, position + count, size_));
  }
  if (files_.empty()) {
    std::copy_n(memory_.begin() + position, out.size(), out.begin());
    return;
  }
  auto file = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), position) - ends_.begin());
  while (!out.empty()) {
    const std::int64_t left = ends_[file] - position;
    const auto part = static_cast<std::size_t>(std::min(left, static_cast<std::int64_t>(out.size())));
    files_[file]->read(files_[file]->size() - left, out.first(part));
    out = out.subspan(part);
    position += static_cast<std::int64_t>(part);
    ++file;
  }
}

}  // namespace trasmuon::lab
