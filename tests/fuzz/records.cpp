// SPDX-License-Identifier: Apache-2.0
// The input has four files, with lines "---" between them: plan.json, and manifest.json, summary.json and metrics.csv
// of the run "r".
#include <cmath>

#include "fuzz/fuzz.h"
#include "lab/records/run_set.h"
#include "support/temporary_directory.h"
#include "trasmuon/error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  static const test::TemporaryDirectory directory;
  static const bool made = std::filesystem::create_directories(directory / "runs/r");
  fuzz::require(made, "the folder is new");
  std::vector<std::string_view> files = fuzz::split(fuzz::text_of(data, size), "\n---\n");
  files.resize(4);
  test::write_file(directory / "plan.json", std::string(files[0]));
  test::write_file(directory / "runs/r/manifest.json", std::string(files[1]));
  test::write_file(directory / "runs/r/summary.json", std::string(files[2]));
  test::write_file(directory / "runs/r/metrics.csv", std::string(files[3]));
  try {
    const lab::RunSet set = lab::load_runs(directory.path());
    fuzz::require(set.finished() <= set.planned(), "no more runs are finished than planned");
    for (const lab::SeedGroup& group : set.groups) {
      for (const lab::RunRecord& run : group.runs) {
        run.value("final_loss");
        lab::to_json(run.spec);
        const lab::Columns metrics = run.table("metrics");
        for (const auto& column : metrics.values) {
          fuzz::require(column.size() == metrics.values.front().size(), "columns are equally long");
        }
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
