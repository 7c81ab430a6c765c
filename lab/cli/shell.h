// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trasmuon::lab {

/// The word as it can be typed into a shell: in quotes if it needs them, on one line.
std::string shell_word(const std::string& word);

/// The same for a path, which must not be taken for an option.
std::string shell_path(const std::string& path);

}  // namespace trasmuon::lab
