// SPDX-License-Identifier: Apache-2.0
#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {

namespace {

Options options_of(const std::string& method) {
  if (method == "muon" || method == "normuon" || method == "adamw") return options_for(method);
  return TrasMuonOptions{.warmup = 15};
}

}  // namespace

double jitter(std::uint64_t seed) { return 1 + static_cast<double>(seed) / 100; }

SeedGroup make_group(const std::string& part, const std::string& method, const Json& axes, const Json& settings,
                     std::size_t seeds, const SummaryOfSeed& summary) {
  SeedGroup group{.part = part, .method = method, .axes = axes, .runs = {}, .planned = seeds};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    RunRecord run;
    run.spec = {.study = "", .method = method, .options = options_of(method), .settings = settings, .seed = seed};
    run.summary = summary(seed);
    run.revision = "abc123";
    run.machine = {{"cpu", "A \"CPU\""}, {"cores", 2}};
    run.folder = "no-such-folder/" + part + axes.dump() + run_id(run.spec);  // no two groups share a run
    group.runs.push_back(run);
  }
  return group;
}

void write_tables(RunSet& runs, const test::TemporaryDirectory& folder,
                  const std::function<void(const RunSpec& spec, RunLog& log)>& write) {
  int number = 0;
  for (SeedGroup& group : runs.groups) {
    for (RunRecord& run : group.runs) {
      run.folder = folder / std::to_string(number++);
      std::filesystem::create_directories(run.folder);
      RunLog log(run.folder);
      write(run.spec, log);
    }
  }
}

}  // namespace trasmuon::lab
