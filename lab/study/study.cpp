// SPDX-License-Identifier: Apache-2.0
#include "lab/study/study.h"

#include "lab/report/summary_tables.h"

namespace trasmuon::lab {

void Study::report(const RunSet& runs, Document& document, Gnuplot&) const { add_summary_tables(runs, document); }

}  // namespace trasmuon::lab
