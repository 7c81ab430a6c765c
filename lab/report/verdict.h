// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lab/report/document.h"
#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {

/// The paper's number relative to its own baseline: similar if the interquartile ranges overlap.
enum class Relation { lower, similar, higher };
Relation relation_of(const Spread& method, const Spread& baseline);

enum class Verdict {
  inside,      ///< our median is between the paper's quartiles
  reproduced,  ///< the relation or the claim
  indicated,   ///< by most seeds, but not significant
  in_part,
  not_reproduced,
  unknown,
};

/// Whether our numbers show the relation. Lower, higher: in 3/4 of the seeds and p < 0.05, or else indicated. Similar:
/// the interquartile ranges overlap.
Verdict judge(Relation relation, const Comparison& ours);

TableCell table_verdict(Verdict verdict);  ///< "direction reproduced"
TableCell claim_verdict(Verdict verdict);  ///< "reproduced"
Verdict yes_or_no(bool reproduced);

/// The rules above, for readers.
inline constexpr std::string_view kDirectionRule =
    "Lower means: in at least 3/4 of the seeds, seed by seed, with p < 0.05 in a two-sided sign test; where the seeds "
    "are too few for that, it is only indicated.";

}  // namespace trasmuon::lab
