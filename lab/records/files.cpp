// SPDX-License-Identifier: Apache-2.0
#include "lab/records/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

std::string sizes(const fs::path& file, int reason, std::size_t bytes) {
  if (bytes == 0 || (reason != ENOSPC && reason != EDQUOT && reason != EFBIG)) return {};
  std::error_code error;
  const fs::space_info disk = fs::space(file.has_parent_path() ? file.parent_path() : ".", error);
  return fmt::format(" (it needs {} bytes{})", bytes,
                     error || reason == EFBIG ? "" : fmt::format(", {} are free", disk.available));
}

/// Returns 0 or the errno.
int write_file(const fs::path& file, std::string_view text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  const int reason = write_all(descriptor, text);
  const bool closed = ::close(descriptor) == 0;  // some file systems notice only now that the disk is full
  return reason == 0 && !closed ? errno : reason;
}

}  // namespace

WriteError::WriteError(const fs::path& file, int reason, std::size_t bytes)
    : Error("cannot write " + file.string() + ": " + std::strerror(reason) + sizes(file, reason, bytes)) {}

std::string read_text(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status)) throw Error("cannot read " + file.string() + ": it is a folder");
  if (fs::is_other(status)) throw Error("cannot read " + file.string() + ": it is not a regular file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot read " + file.string() + ": " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(stream), {}};
}

namespace {

/// No deeper than a reader that recurses can go; no record comes near.
void check_depth(std::string_view json, const fs::path& file) {
  constexpr int kMostDepth = 100;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') ++i;
    else if (c == '"') quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{')) ++depth;
    else if (!quoted && (c == ']' || c == '}')) --depth;
    if (depth > kMostDepth) throw Error(file.string() + ": not valid JSON: nested more than 100 levels deep");
  }
}

}  // namespace

Json read_json(const fs::path& file) {
  try {
    const std::string text = read_text(file);
    check_depth(text, file);
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error(file.string() + ": not valid JSON: " + error.what());
  }
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR) return errno;
  }
  return 0;
}

void write_atomically(const fs::path& file, std::string_view text) {
  const fs::path temporary = file.string() + ".tmp";
  int reason = write_file(temporary, text);
  if (reason == 0 && ::rename(temporary.c_str(), file.c_str()) != 0) reason = errno;
  if (reason == 0) return;
  ::unlink(temporary.c_str());
  throw WriteError(file, reason, text.size());
}

}  // namespace trasmuon::lab
