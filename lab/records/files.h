// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/error.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "lab/records/json.h"

namespace trasmuon::lab {

/// Disk full, no permission, ...: other runs would fail as well.
class WriteError : public Error {
 public:
  /// `reason` is an errno, `bytes` the size that the file would have now. A full disk is described with both sizes.
  WriteError(const std::filesystem::path& file, int reason, std::size_t bytes = 0);
};

/// The whole file; throws Error with the reason, also if it is a device, which could block.
std::string read_text(const std::filesystem::path& file);
/// Throws Error with the file's name if it is not valid JSON, or nested more than 100 levels deep.
Json read_json(const std::filesystem::path& file);

/// Writes all of the text to an open file. Returns 0 or the errno.
int write_all(int descriptor, std::string_view text);

/// Writes FILE.tmp and renames it, so that the file is complete or as before. Throws WriteError and leaves no FILE.tmp.
void write_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace trasmuon::lab
