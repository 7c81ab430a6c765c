// SPDX-License-Identifier: Apache-2.0
#include "lab/records/files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace trasmuon::lab {

WriteError::WriteError(const std::filesystem::path& file, int reason)
    : Error("cannot write " + file.string() + ": " + std::strerror(reason)) {}

std::string read_text(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) throw Error("cannot read " + file.string() + ": it is a folder");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot read " + file.string() + ": " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(stream), {}};
}

Json read_json(const std::filesystem::path& file) {
  try {
    return Json::parse(read_text(file));
  } catch (const Json::exception& error) {
    throw Error(file.string() + ": is no JSON: " + error.what());
  }
}

void write_atomically(const std::filesystem::path& file, std::string_view text) {
  const std::filesystem::path temporary = file.string() + ".tmp";
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream << text;
    if (!stream.flush()) throw WriteError(file, errno);
  }
  std::error_code error;
  std::filesystem::rename(temporary, file, error);
  if (error) throw WriteError(file, error.value());
}

}  // namespace trasmuon::lab
