// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/records/run_set.h"
#include "lab/report/document.h"

namespace trasmuon::lab {

/// Adds a table per part with the median and quartiles of every number: the report of a study that has none of its own.
void add_summary_tables(const RunSet& runs, Document& document);

}  // namespace trasmuon::lab
