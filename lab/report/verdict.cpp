// SPDX-License-Identifier: Apache-2.0
#include "lab/report/verdict.h"

namespace trasmuon::lab {

Relation relation_of(const Spread& method, const Spread& baseline) {
  if (overlap(method, baseline)) return Relation::similar;
  return method.high < baseline.low ? Relation::lower : Relation::higher;
}

Verdict judge(Relation relation, const Comparison& ours) {
  if (relation == Relation::similar) return yes_or_no(overlap(ours.method, ours.baseline));
  const bool lower = relation == Relation::lower;
  if (lower ? ours.pairing.clearly_lower() : ours.pairing.clearly_higher()) return Verdict::reproduced;
  return (lower ? ours.pairing.mostly_lower() : ours.pairing.mostly_higher()) ? Verdict::indicated
                                                                              : Verdict::not_reproduced;
}

TableCell table_verdict(Verdict verdict) {
  if (verdict == Verdict::inside) return {"inside the paper's IQR", "", Tone::good};
  if (verdict == Verdict::reproduced) return {"direction reproduced", "", Tone::fair};
  if (verdict == Verdict::indicated) return {"direction indicated", "", Tone::fair};
  return claim_verdict(verdict);
}

TableCell claim_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::inside:
    case Verdict::reproduced: return {"reproduced", "", Tone::good};
    case Verdict::indicated: return {"indicated", "", Tone::fair};
    case Verdict::in_part: return {"in part", "", Tone::fair};
    case Verdict::not_reproduced: return {"not reproduced", "", Tone::bad};
    case Verdict::unknown: break;
  }
  return {"not run", "", Tone::muted};
}

Verdict yes_or_no(bool reproduced) { return reproduced ? Verdict::reproduced : Verdict::not_reproduced; }

}  // namespace trasmuon::lab
