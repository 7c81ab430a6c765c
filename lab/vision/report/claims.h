// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/document.h"
#include "lab/vision/report/comparisons.h"

namespace trasmuon::lab {

/// The paper's claims about this study and their controls, each with what these runs show. Claims without runs are
/// left out.
Table vision_claims(const VisionGroups& groups, const VisionComparisons& comparisons);

/// Sentences that are computed from the numbers of these runs.
std::vector<std::string> vision_findings(const VisionGroups& groups);

/// "57.48 ± 0.52 %", from test errors; "–" for none, and how many diverged.
std::string accuracy_text(const std::vector<double>& errors);

/// The method, or what a placebo does: "TrasMuon, damping permuted".
std::string side_label(const std::string& method);

}  // namespace trasmuon::lab
