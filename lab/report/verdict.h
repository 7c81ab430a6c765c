// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lab/report/cells.h"
#include "lab/report/document.h"
#include "lab/report/paper_numbers.h"

namespace trasmuon::lab {

/// How the paper's numbers stand to its own baseline: apart or overlapping interquartile ranges.
enum class Relation { lower, similar, higher };
Relation relation_of(const Spread& method, const Spread& baseline);

/// Ours: in that relation if 3/4 of the seeds say so, similar if the interquartile ranges overlap.
bool holds(Relation relation, const Comparison& ours);

enum class Verdict { inside, direction, not_reproduced, unknown };

/// `versus` is our method against our baseline; not known() for a method that the paper compares with nothing.
Verdict judge(const Spread& paper, const Spread& paper_baseline, const Spread& ours, const Comparison& versus);

TableCell verdict_cell(Verdict verdict);
enum class ClaimVerdict { reproduced, in_part, not_reproduced };
TableCell claim_cell(ClaimVerdict verdict);
TableCell claim_cell(bool reproduced);

/// The rules above, for readers.
inline constexpr std::string_view kVerdictRules =
    "Inside the paper's IQR: our median lies between the paper's quartiles. Direction reproduced: it does not, but the "
    "method stands to its baseline as in the paper. Where the paper's interquartile ranges are apart, at least 3/4 of "
    "our seeds must differ that way, seed by seed (p: two-sided sign test); where they overlap, ours must overlap too. "
    "The baseline of clip-only and clip-sf is noclip, that of noclip is NorMuon.";

}  // namespace trasmuon::lab
