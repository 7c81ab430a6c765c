// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/error.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "lab/config/json.h"

namespace trasmuon::lab {

/// The disk is full, the folder is not ours, ...: no other run will fare better.
class WriteError : public Error {
 public:
  WriteError(const std::filesystem::path& file, int reason);  ///< an errno
};

/// The whole file; throws Error with the reason.
std::string read_text(const std::filesystem::path& file);
/// Throws Error naming the file when it is no JSON.
Json read_json(const std::filesystem::path& file);

/// Written beside the file, then renamed: it is there whole or not at all. Throws WriteError.
void write_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace trasmuon::lab
