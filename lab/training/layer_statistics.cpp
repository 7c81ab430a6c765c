// SPDX-License-Identifier: Apache-2.0
#include "lab/training/layer_statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

namespace trasmuon::lab {

LayerReader::LayerReader(const Optimizer& optimizer) {
  for (std::size_t i = 0; i < optimizer.parameter_count() && optimizer.group_of(i) == 0; ++i)
    names_.push_back(optimizer.parameter(i).name);
  if (const auto* trasmuon = std::get_if<TrasMuonOptions>(&optimizer.options(0))) {
    trigger_ = trasmuon->trigger;
    has_ratios_ = trasmuon->clip != Clip::none;
  }
}

LayerStatistics LayerReader::read(const Optimizer& optimizer) const {
  LayerStatistics seen{.c_mean = 0};
  double elements = 0, columns = 0, matrices = 0, squares = 0;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Shape& shape = optimizer.parameter(i).weight.shape;
    const std::span<const Diagnostics> all = optimizer.diagnostics(i);
    const double size = static_cast<double>(shape.elements()) / static_cast<double>(all.size());
    const double width = static_cast<double>(shape.elements()) / static_cast<double>(shape.dims()[0]);
    for (const Diagnostics& one : all) {
      squares += size * one.update_rms * one.update_rms;
      elements += size;
      seen.r_max = std::max(seen.r_max, one.r_max);
      seen.r_q95 += one.r_q95;
      seen.c_min = std::min(seen.c_min, one.c_min);
      seen.c_mean += width * one.c_mean;
      seen.damped_share += width * one.damped_share;
      seen.triggered += one.r_max > trigger_ ? 1 : 0;
      seen.skipped += one.skipped;
      columns += width;
      matrices += 1;
    }
  }
  seen.update_rms = std::sqrt(squares / elements);
  seen.r_q95 /= matrices;
  seen.c_mean /= columns;
  seen.damped_share /= columns;
  seen.triggered = has_ratios_ ? seen.triggered / matrices : 0;
  return seen;
}

void LayerReader::log(const Optimizer& optimizer, int step, RunLog& log) const {
  if (!has_ratios_) return;
  std::vector<std::string> columns{"step"};
  columns.insert(columns.end(), names_.begin(), names_.end());
  const std::pair<const char*, double Diagnostics::*> tables[] = {{"ratio_max", &Diagnostics::r_max},
                                                                  {"ratio_q95", &Diagnostics::r_q95},
                                                                  {"damped_share", &Diagnostics::damped_share}};
  for (const auto& [name, member] : tables) {
    std::vector<double> row{static_cast<double>(step)};
    for (std::size_t i = 0; i < names_.size(); ++i) {
      double largest = 0;
      for (const Diagnostics& one : optimizer.diagnostics(i)) largest = std::max(largest, one.*member);
      row.push_back(largest);
    }
    log.table(name, columns).row(row);
  }
}

}  // namespace trasmuon::lab
