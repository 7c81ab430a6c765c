// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/records/run_set.h"
#include "lab/report/figure.h"

namespace trasmuon::lab {

/// The table, or nothing where the run kept none.
std::optional<Columns> read_table(const RunRecord& run, const std::string& name);

/// Median and quartiles over the seeds of a column against "step". Long tables are put into bins of several steps,
/// each with the values of all seeds. Where a run stops early it diverged: infinity from there on.
Line seed_band(const Cell& cell, const std::string& table, const std::string& column, std::size_t max_points = 350);

/// Rows in which the "event" column is 1.
std::vector<std::size_t> event_rows(const Columns& metrics);

/// A column around the events, from `before` rows before to `after` rows after, over its value in the row before the
/// event. Of each seed the quantile p over its events; of those, median and quartiles over the seeds.
Line event_band(const Cell& cell, const std::string& column, int before, int after, double p);

/// A summary's median and quartiles along an axis.
Line axis_band(const std::vector<const Cell*>& cells, const std::string& axis, const std::string& key);

Box seed_box(const Cell& cell, const std::string& key);

}  // namespace trasmuon::lab
