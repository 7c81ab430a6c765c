// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "lab/study/study.h"

namespace trasmuon::lab {

/// All studies, also those that this build cannot run. The program defines this list (lab/cli/studies.cpp); tests
/// define their own.
const std::vector<const Study*>& known_studies();

/// The studies that this build can run.
std::vector<const Study*> studies();

/// Returns a study that this build can run. Throws Error with the nearest name, or with what the build lacks.
const Study& find_study(std::string_view name);

/// Returns the study, whether or not this build can run it; null if it is unknown.
const Study* find_known_study(std::string_view name);

}  // namespace trasmuon::lab
