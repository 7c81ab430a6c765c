// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/execute.h"

#include <utility>

#include "lab/records/run_log.h"
#include "lab/records/run_record.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {

void execute(const RunSpec& spec, const std::filesystem::path& folder, std::function<void(double)> progress) {
  write_manifest(spec, folder);
  RunLog log(folder, std::move(progress));
  Json summary = find_study(spec.study).run(spec, log);
  log.flush();
  write_summary(std::move(summary), spec, log, folder);
}

}  // namespace trasmuon::lab
