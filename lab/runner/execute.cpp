// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/execute.h"

#include "lab/records/files.h"
#include "lab/records/machine.h"
#include "lab/records/run_log.h"
#include "lab/studies/study.h"

namespace trasmuon::lab {

void execute(const RunSpec& spec, const std::filesystem::path& folder, std::function<void(double)> progress) {
  const Json manifest = {{"spec", to_json(spec)}, {"machine", describe_machine()}, {"started", utc_now()}};
  write_atomically(folder / "manifest.json", manifest.dump(1) + "\n");
  RunLog log(folder, std::move(progress));
  const Json summary = find_study(spec.study).run(spec, log);
  log.flush();
  write_atomically(folder / "summary.json", summary.dump(1) + "\n");
}

bool is_finished(const std::filesystem::path& folder) { return std::filesystem::exists(folder / "summary.json"); }

}  // namespace trasmuon::lab
