// SPDX-License-Identifier: Apache-2.0
#include "lab/language/study.h"

#include <gtest/gtest.h>

#include "lab/study/registry.h"
#include "lab/support/plans.h"
#include "token_folder.h"

namespace trasmuon::lab {

const std::vector<const Study*>& known_studies() {
  static const std::vector<const Study*> all = {&language_study()};
  return all;
}

namespace {

std::string recipe(const std::string& data, const std::string& model) {
  return "study = \"language\"\nseeds = 1\n[settings]\nmodel = \"" + model + "\"\ndata = \"" + data +
         "\"\nvocabulary = 257\nlayers = 1\nsequence = 32\nbatch = 8\nsteps = 30\neval_every = 10\ntarget_loss = "
         "3\nother_lr = "
         "1e-2\n"
         "checkpoint_every = 9\n[method.trasmuon]\nrule = \"trasmuon\"\nlr = 0.01\n[method.muon]\nrule = \"muon\"\n"
         "[part.shared]\nwarmup_share = [0.1]\n";
}

TEST(LanguageStudy, BothModelsLearnFromFiles) {
  test::TemporaryDirectory folder;
  write_tokens(folder);
  for (const char* model : {"gpt2-tiny", "qwen3-tiny"}) {
    const std::string out = folder / model;
    const Plan plan = plan_of(recipe(folder.path(), model));
    ASSERT_EQ(run_quietly(plan, out).finished, 2u);
    for (const SeedGroup& group : load_runs(out).groups) {
      for (const RunRecord& run : group.runs) {
        EXPECT_LT(run.value("final_val_loss"), 2.5) << model << " " << group.method;
        EXPECT_LT(run.value("steps_to_target"), 30);
        EXPECT_EQ(run.table("eval")["step"], (std::vector<double>{0, 10, 20, 30}));
        EXPECT_GT(run.value("update_rms"), 0);
      }
    }
  }
}

TEST(LanguageStudy, RefusesMissingDataBeforeTheFirstRun) {
  const test::TemporaryDirectory folder;
  EXPECT_THROW(run_quietly(plan_of(recipe(folder / "none", "gpt2-tiny")), folder / "out"), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out/runs"));
}

}  // namespace
}  // namespace trasmuon::lab
