// SPDX-License-Identifier: Apache-2.0
#include "lab/records/plan.h"

#include "lab/records/files.h"
#include "lab/records/machine.h"

namespace trasmuon::lab {

void write_plan(const Plan& plan, const std::filesystem::path& folder, const std::string& command) {
  Json runs = Json::array();
  for (const PlannedRun& run : plan.runs) {
    runs.push_back({{"part", run.part},
                    {"method", run.spec.method},
                    {"axes", run.axes},
                    {"seed", run.spec.seed},
                    {"id", run_id(run.spec)}});
  }
  const Json json = {{"name", plan.name},   {"title", plan.title},           {"study", plan.study},
                     {"parts", plan.parts}, {"methods", plan.methods},       {"command", command},
                     {"time", utc_now()},   {"machine", describe_machine()}, {"runs", std::move(runs)}};
  // Names and the command come from outside and may not be UTF-8.
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  write_atomically(folder / "plan.json", text + "\n");
}

}  // namespace trasmuon::lab
