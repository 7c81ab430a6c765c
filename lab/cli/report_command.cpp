// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lab/cli/commands.h"
#include "lab/cli/short_table.h"
#include "lab/records/run_set.h"
#include "lab/report/report.h"

namespace trasmuon::lab {

int report_command(const std::string& runs, const std::string& out) {
  const RunSet set = load_runs(runs);
  std::size_t planned = 0, finished = 0;
  for (const Cell& cell : set.cells) {
    planned += cell.planned;
    finished += cell.runs.size();
  }
  const std::string folder = out.empty() ? runs : out;
  write_report(set, folder);
  fmt::print("{}", short_table(set));
  if (finished < planned) fmt::print("unfinished: {} of {} runs are there\n", finished, planned);
  fmt::print("written: {}\n", (std::filesystem::path(folder) / "report.html").string());
  return 0;
}

}  // namespace trasmuon::lab
