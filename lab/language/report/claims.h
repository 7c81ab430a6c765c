// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/language/report/comparisons.h"
#include "lab/report/document.h"

namespace trasmuon::lab {

/// The paper's claims about language models, each with what these runs show and what its control says.
Table language_claims(const LanguageGroups& groups, const LanguageComparisons& comparisons);

/// What the runs show beyond the claims, a sentence each.
std::vector<std::string> language_findings(const LanguageGroups& groups, const LanguageComparisons& comparisons);

}  // namespace trasmuon::lab
