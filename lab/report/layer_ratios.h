// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/records/run_set.h"
#include "lab/report/document.h"

namespace trasmuon::lab {

/// Adds a table of the natural bursts in the runs of a TrasMuon group, from the tables "ratio_max" and "damped_share"
/// that training writes: a row per kind of matrix (the name without its block and ".weight"), over all blocks and
/// seeds, before step 100 and from there on. Nothing if there are no such tables.
void add_layer_ratios(const SeedGroup& group, Document& document);

}  // namespace trasmuon::lab
