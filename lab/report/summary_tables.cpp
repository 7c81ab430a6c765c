// SPDX-License-Identifier: Apache-2.0
#include "lab/report/summary_tables.h"

#include <set>

#include "lab/report/figures/figure.h"
#include "lab/report/part_tables.h"
#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {

void add_summary_tables(const RunSet& runs, Document& document) {
  document.add(Heading{2, "Results"});
  document.add(Paragraph{"Median and quartiles over the seeds of every number in the runs' summaries."});
  for (const std::string& part : runs.parts) {
    std::set<std::string> keys;
    for (const SeedGroup* group : runs.of_part(part))
      for (const RunRecord& run : group->runs)
        for (const auto& [key, value] : run.summary.items())
          if (value.is_number() || value.is_null()) keys.insert(key);
    Table table{part, {{"method", false}, {"settings", false}, {"seeds"}}, {}};
    for (const std::string& key : keys) table.columns.push_back({key});
    for (const SeedGroup* group : runs.of_part(part)) {
      std::vector<TableCell> row = {
          {method_label(group->method)}, {axes_text(group->axes)}, {std::to_string(group->runs.size())}};
      for (const std::string& key : keys) row.push_back(number_cell(spread_of(group, key)));
      table.rows.push_back(std::move(row));
    }
    document.add(std::move(table));
  }
}

}  // namespace trasmuon::lab
