// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/execute.h"

#include <system_error>
#include <utility>

#include "lab/records/checkpoint.h"
#include "lab/records/run_log.h"
#include "lab/records/run_record.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {

void execute(const RunSpec& spec, const std::filesystem::path& folder, std::function<void(double)> progress) {
  if (std::filesystem::exists(checkpoint_file(folder))) note_continuation(folder);
  else write_manifest(spec, folder);
  RunLog log(folder, std::move(progress));
  Json summary = find_study(spec.study).run(spec, log);
  log.flush();
  write_summary(std::move(summary), spec, log, folder);
  std::error_code ignored;  // a checkpoint that stays is only a waste
  std::filesystem::remove(checkpoint_file(folder), ignored);
}

}  // namespace trasmuon::lab
