// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "study.h"

namespace burst {

/// The tables and what follows from their numbers, on stdout.
void print_report(const Study& study);

/// curves.csv (loss per step), events.csv (the steps around a burst) and runs.csv (one line per run).
/// The folder must exist.
void write_csv(const Study& study, const std::filesystem::path& folder);

/// Writes plot.gp and runs gnuplot on it. False if there is no gnuplot; throws if it fails.
bool write_plot(const Study& study, const std::filesystem::path& folder);

}  // namespace burst
