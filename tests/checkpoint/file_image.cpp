// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file_image.h"

#include <cstdio>
#include <stdexcept>

namespace trasmuon::test {

using nlohmann::json;

FileImage FileImage::parse(const std::string& file) {
  if (file.size() < 8) throw std::runtime_error("no room for a length");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(file[static_cast<std::size_t>(i)]);
  if (length > file.size() - 8) throw std::runtime_error("header longer than the file");
  return {json::parse(file.substr(8, length)), file.substr(8 + length)};
}

json FileImage::part(const char* key) const {
  return json::parse(header.at("__metadata__").at(key).get<std::string>());
}

void FileImage::set_part(const char* key, const json& value) { header["__metadata__"][key] = value.dump(); }

std::string FileImage::sealed() const {
  json copy = header;
  copy["__metadata__"].erase("trasmuon_header_checksum");
  const std::string checksum = slow_crc32(copy.dump());
  copy["__metadata__"]["trasmuon_header_checksum"] = checksum;
  return join(copy.dump(), data);
}

std::string join(std::string_view header_text, std::string_view data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header_text.size() >> (8 * i) & 0xFF);
  return file.append(header_text).append(data);
}

std::string slow_crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
  }
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(~crc));
  return text;
}

}  // namespace trasmuon::test
