// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lab/cli/commands.h"
#include "lab/cli/shell.h"
#include "lab/cli/short_table.h"
#include "lab/records/run_set.h"
#include "lab/report/report.h"
#include "lab/report/summary_tables.h"
#include "lab/runner/console.h"
#include "lab/runner/folder_lock.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {
namespace {

/// The study's own body, or a general one for records of a study that this program does not know.
ReportBody body_of(const Study* study) {
  if (study == nullptr)
    return [](const RunSet& set, Document& document, Gnuplot&) { add_summary_tables(set, document); };
  return [study](const RunSet& set, Document& document, Gnuplot& gnuplot) { study->report(set, document, gnuplot); };
}

}  // namespace

int report_command(const std::string& runs, const std::string& out) {
  const RunSet set = load_runs(runs);
  const Study* study = find_known_study(set.study);
  const std::filesystem::path folder = out.empty() ? runs : out;
  {
    // A run may write into the folder meanwhile, another report may not.
    const FolderLock lock(folder, ".report.lock", FolderLock::IfHeld::wait);
    write_report(set, body_of(study), folder);
  }
  print(
      stdout, "{}",
      short_table(set, study == nullptr ? std::vector<std::string>{} : study->main_numbers(), terminal_width(stdout)));
  for (const std::string& damage : set.damaged) print(stderr, "damaged record, left out: {}\n", damage);
  if (set.finished() < set.planned())
    print(stdout, "unfinished: {} of {} results so far\n", set.finished(), set.planned());
  print(stdout, "written: {}\n", shell_path((folder / "report.html").string()));
  return 0;
}

}  // namespace trasmuon::lab
