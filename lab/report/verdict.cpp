// SPDX-License-Identifier: Apache-2.0
#include "lab/report/verdict.h"

namespace trasmuon::lab {

Relation relation_of(const Spread& method, const Spread& baseline) {
  if (overlap(method, baseline)) return Relation::similar;
  return method.high < baseline.low ? Relation::lower : Relation::higher;
}

bool holds(Relation relation, const Comparison& ours) {
  switch (relation) {
    case Relation::lower: return ours.pairing.mostly_lower();
    case Relation::higher: return ours.pairing.mostly_higher();
    case Relation::similar: break;
  }
  return overlap(ours.method, ours.baseline);
}

Verdict judge(const Spread& paper, const Spread& paper_baseline, const Spread& ours, const Comparison& versus) {
  if (ours.count == 0) return Verdict::unknown;
  if (paper.low <= ours.median && ours.median <= paper.high) return Verdict::inside;
  if (versus.known() && holds(relation_of(paper, paper_baseline), versus)) return Verdict::direction;
  return Verdict::not_reproduced;
}

TableCell verdict_cell(Verdict verdict) {
  switch (verdict) {
    case Verdict::inside: return {"inside the paper's IQR", "", Tone::good};
    case Verdict::direction: return {"direction reproduced", "", Tone::fair};
    case Verdict::not_reproduced: return {"not reproduced", "", Tone::bad};
    case Verdict::unknown: break;
  }
  return {"not run", "", Tone::muted};
}

TableCell claim_cell(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::reproduced: return {"reproduced", "", Tone::good};
    case ClaimVerdict::in_part: return {"in part", "", Tone::fair};
    case ClaimVerdict::not_reproduced: break;
  }
  return {"not reproduced", "", Tone::bad};
}

TableCell claim_cell(bool reproduced) {
  return claim_cell(reproduced ? ClaimVerdict::reproduced : ClaimVerdict::not_reproduced);
}

}  // namespace trasmuon::lab
