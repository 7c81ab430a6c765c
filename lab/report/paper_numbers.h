// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "lab/report/stats.h"

namespace trasmuon::lab {

// What the paper reports (Cheng et al., TrasMuon): the only place of this program that knows it.

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

/// Tables of the mechanistic study. The paper does not say for which condition number.
std::span<const PaperTable> mechanistic_paper_tables();

}  // namespace trasmuon::lab
