// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/records/run_set.h"
#include "lab/report/figures/figure.h"

namespace trasmuon::lab {

/// Reads a table of the run; nothing if the run wrote no such table.
std::optional<Columns> read_table(const RunRecord& run, const std::string& name);

/// Median and quartiles over the seeds of a column against "step". In a long table a point covers several steps and all
/// their values. A run that stops early has diverged and counts as infinite from there on.
Line seed_band(const SeedGroup& group, const std::string& table, const std::string& column,
               std::size_t max_points = 350);

/// Rows in which the "event" column is 1.
std::vector<std::size_t> event_rows(const Columns& metrics);

/// A column around events, from `before` rows before to `after` rows after, divided by its value in the row before the
/// event. Takes the quantile p over the events of each seed, then median and quartiles over the seeds.
Line event_band(const SeedGroup& group, const std::string& column, int before, int after, double p);

/// Median and quartiles of a summary's number along an axis.
Line axis_band(const std::vector<const SeedGroup*>& groups, const std::string& axis, const std::string& key);

Box seed_box(const SeedGroup& group, const std::string& key);

}  // namespace trasmuon::lab
