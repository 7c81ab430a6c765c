// SPDX-License-Identifier: Apache-2.0
#include "lab/report/layer_ratios.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "lab/report/figures/curves.h"
#include "lab/report/figures/figure.h"
#include "lab/report/format.h"
#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {
namespace {

constexpr double kSettled = 100;  // steps

/// "query" for "block3.query.weight", "mlp.up" for "blocks.3.mlp.up.weight".
std::string kind_of(std::string name) {
  if (name.ends_with(".weight")) name.resize(name.size() - 7);
  const std::size_t digit = name.find_first_of("0123456789");
  const std::size_t dot = digit == std::string::npos ? digit : name.find('.', digit);
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

/// Of one kind of matrix: [early, settled].
struct Kind {
  std::vector<double> ratios[2], damped[2];
};

double mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double share_above(const std::vector<double>& values, double limit) {
  std::vector<double> above;
  for (const double value : values) above.push_back(value > limit ? 1 : 0);
  return mean(above);
}

}  // namespace

void add_layer_ratios(const SeedGroup& group, Document& document) {
  std::vector<std::string> order;
  std::map<std::string, Kind> kinds;
  for (const RunRecord& run : group.runs) {
    const auto ratios = read_table(run, "ratio_max"), damped = read_table(run, "damped_share");
    if (!ratios || !damped) continue;
    for (std::size_t i = 1; i < ratios->names.size(); ++i) {
      const std::string kind = kind_of(ratios->names[i]);
      if (!kinds.contains(kind)) order.push_back(kind);
      for (std::size_t row = 0; row < ratios->values[0].size(); ++row) {
        const int when = ratios->values[0][row] >= kSettled ? 1 : 0;
        kinds[kind].ratios[when].push_back(ratios->values[i][row]);
        kinds[kind].damped[when].push_back(damped->values[i][row]);
      }
    }
  }
  if (order.empty()) return;
  const Json setting = setting_of(group, "trigger");
  const double trigger = setting.is_number() ? setting.get<double>() : 0;
  Table table{fmt::format("Natural bursts: the largest ratio r of a matrix's columns in a step, {}; the trigger is {}",
                          method_label(group.method), plain(trigger)),
              {{"matrix", false},
               {"median r, steps 0–99"},
               {"from step 100"},
               {"95 % quantile, from step 100"},
               {"above the trigger, steps 0–99"},
               {"from step 100"},
               {"columns damped, steps 0–99"},
               {"from step 100"}},
              {}};
  for (const std::string& name : order) {
    const Kind& kind = kinds.at(name);
    table.rows.push_back({{name},
                          {human(quantile(kind.ratios[0], 0.5))},
                          {human(quantile(kind.ratios[1], 0.5))},
                          {human(quantile(kind.ratios[1], 0.95))},
                          {human_percent(share_above(kind.ratios[0], trigger))},
                          {human_percent(share_above(kind.ratios[1], trigger))},
                          {human_percent(mean(kind.damped[0]))},
                          {human_percent(mean(kind.damped[1]))}});
  }
  document.add(std::move(table));
}

}  // namespace trasmuon::lab
