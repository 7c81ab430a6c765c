// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/mechanistic/report/evidence.h"
#include "lab/report/document.h"

namespace trasmuon::lab {

/// The paper's claims about this study, each with what these runs show. Claims without runs are left out.
Table mechanistic_claims(const Evidence& evidence);

/// The same questions to another damped method, as far as they make sense.
Table claims_about(const Evidence& evidence, const std::string& method);

/// The comparisons behind them: two rows each, their numbers, and what the comparison says.
Table contrast_table(const Evidence& evidence, const std::string& method, Question question,
                     const std::string& caption);

}  // namespace trasmuon::lab
