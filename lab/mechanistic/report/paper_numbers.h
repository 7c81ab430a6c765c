// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {

// The numbers that the paper (Cheng et al., TrasMuon) reports for this study.

struct PaperRow {
  std::string_view method;    ///< its name in our recipes
  std::string_view baseline;  ///< what the paper compares it with; empty for the first
  Spread spikes, final_loss;
};

struct PaperTable {
  bool fix_v;
  std::string_view source;
  std::span<const PaperRow> rows;
};

/// The tables. The paper does not say for which condition number.
std::span<const PaperTable> mechanistic_paper_tables();

}  // namespace trasmuon::lab
