// SPDX-License-Identifier: Apache-2.0
#include "lab/records/provenance.h"

#include <gtest/gtest.h>
#include <trasmuon/version.h>

#include "lab/records/files.h"
#include "lab/records/plan.h"
#include "lab/records/revision.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

RunSpec spec_of(std::uint64_t seed) {
  return {.study = "tiny", .method = "a", .options = MuonOptions{}, .settings = Json::object(), .seed = seed};
}

/// Makes finished runs and changes the manifests of some.
class Runs {
 public:
  explicit Runs(std::uint64_t count) {
    Plan plan{.name = "x", .title = "", .study = "tiny", .parts = {"table", "again"}, .methods = {"a"}, .runs = {}};
    for (const char* part : {"table", "again"})
      for (std::uint64_t seed = 0; seed < count; ++seed)
        plan.runs.push_back({.part = part, .axes = Json::object(), .spec = spec_of(seed)});
    write_plan(plan, out_.path(), "trasmuon run x");
    for (std::uint64_t seed = 0; seed < count; ++seed) {
      std::filesystem::create_directories(folder(seed));
      write_manifest(spec_of(seed), folder(seed));
      write_summary({{"final_loss", 1}}, spec_of(seed), RunLog(folder(seed)), folder(seed));
    }
  }

  std::filesystem::path folder(std::uint64_t seed) const { return out_.path() + "/runs/" + run_id(spec_of(seed)); }

  template <class Change>
  void change(std::uint64_t seed, Change change) const {
    Json manifest = read_json(folder(seed) / "manifest.json");
    change(manifest);
    write_atomically(folder(seed) / "manifest.json", manifest.dump());
  }

  RunSet load() const { return load_runs(out_.path()); }

 private:
  test::TemporaryDirectory out_;
};

TEST(Revision, IsThatOfGitOrTheVersion) {
  const std::string revision = code_revision();
  EXPECT_FALSE(revision.empty());
  EXPECT_EQ(revision.find_first_of("@\"\n"), std::string::npos) << revision;
  const std::string version = std::string("version ") + TRASMUON_VERSION;  // where there is no git
  EXPECT_TRUE(revision == version || revision.find(' ') == std::string::npos) << revision;
}

TEST(Provenance, OfRunsThatAgreeIsOneAndSharedRunsCountOnce) {
  const auto found = provenance_of(Runs(3).load());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].revision, code_revision());
  EXPECT_EQ(found[0].runs, 3u);
  for (const char* key : {"cpu ", "cores ", "compiler ", "system "})
    EXPECT_NE(found[0].machine.find(key), std::string::npos) << found[0].machine;
}

TEST(Provenance, NamesEveryRevisionAndMachine) {
  const Runs runs(5);
  runs.change(1, [](Json& manifest) { manifest["revision"] = "abc-dirty"; });
  runs.change(2, [](Json& manifest) { manifest["revision"] = "abc-dirty"; });
  runs.change(3, [](Json& manifest) { manifest["machine"]["cpu"] = "Another CPU"; });
  const auto found = provenance_of(runs.load());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].runs, 2u);
  EXPECT_EQ(found[1].runs, 2u);
  EXPECT_EQ(found[2].runs, 1u);
  EXPECT_EQ(found[1].revision, "abc-dirty");
  EXPECT_NE(found[2].machine.find("cpu Another CPU"), std::string::npos) << found[2].machine;
}

TEST(Provenance, ARecordOfAnEarlierVersionIsAcceptedAndNamed) {
  const Runs runs(2);
  runs.change(1, [](Json& manifest) {
    manifest.erase("revision");
    manifest.erase("machine");
  });
  const RunSet loaded = runs.load();
  EXPECT_TRUE(loaded.damaged.empty());
  EXPECT_EQ(loaded.finished(), 4u);  // two runs in two parts
  const auto found = provenance_of(loaded);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].revision, "unknown revision");
  EXPECT_EQ(found[1].machine, "unknown machine");
}

}  // namespace
}  // namespace trasmuon::lab
