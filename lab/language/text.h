// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "lab/language/settings.h"

namespace trasmuon::lab {

/// The token files of a run.
struct TextFiles {
  std::vector<std::filesystem::path> train, val;
};

/// Finds the files that the settings name; throws Error with the setting if there are none.
TextFiles find_text(const LanguageSettings& settings);

}  // namespace trasmuon::lab
