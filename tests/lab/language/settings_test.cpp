// SPDX-License-Identifier: Apache-2.0
#include "lab/language/settings.h"

#include <gtest/gtest.h>

#include "lab/language/study.h"
#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

std::string refusal(const Json& given, const Options& options = MuonOptions{}) {
  return test::error_of([&] {
    const Study& study = language_study();
    study.check({.study = "language", .method = "m", .options = options, .settings = study.complete(given), .seed = 0});
  });
}

TEST(LanguageSettings, IncludeThoseOfTraining) {
  const Json all = language_study().complete({{"steps", 7}, {"model", "qwen3-tiny"}});
  EXPECT_EQ(all["steps"], 7);
  EXPECT_EQ(all["target_loss"], 7);
  EXPECT_EQ(all["model"], "qwen3-tiny");
}

TEST(LanguageSettings, RefuseWhatCannotRun) {
  EXPECT_EQ(refusal({{"data", "x"}}), "no error");
  EXPECT_EQ(refusal(Json::object()), "language: vocabulary must be >= 257 for the default text, got 256");
  EXPECT_EQ(refusal({{"data", "x"}, {"sequence", 4096}}),
            "language: sequence must be <= 1024, the context of gpt2-tiny, got 4096");
  EXPECT_EQ(refusal({{"batch", 8}, {"micro_batch", 3}}), "language: micro_batch must divide batch = 8, got 3");
  EXPECT_TRUE(refusal({{"model", "gpt3"}}).starts_with("language: model must be gpt2-small"))
      << refusal({{"model", "gpt3"}});
}

TEST(LanguageSettings, AreNotNamedAsAFieldOfARule) {  // a recipe could not tell them apart
  const Json all = language_study().complete(Json::object());
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"}) {
    const Json fields =
        to_json(RunSpec{.study = "", .method = "", .options = options_for(rule), .settings = {}, .seed = 0})["options"];
    for (const auto& [key, value] : fields.items()) EXPECT_FALSE(all.contains(key)) << rule << ": " << key;
  }
}

TEST(LanguageStudy, NamesDataThatIsMissing) {
  const Study& study = language_study();
  const std::string error = test::error_of([&] { study.check_machine(study.complete({{"data", "/nowhere/at/all"}})); });
  EXPECT_NE(error.find("/nowhere/at/all"), std::string::npos) << error;
}

TEST(LanguageStudy, NeedsMemoryForWeightsAndActivations) {
  const Study& study = language_study();
  const auto memory = [&](const Json& given) { return study.memory(study.complete(given)); };
  EXPECT_GT(memory({{"model", "gpt2-small"}}), 4 * 4 * 124e6);
  EXPECT_GT(memory({{"batch", 64}}), 2 * memory({{"batch", 16}}));
  EXPECT_LT(memory({{"batch", 64}, {"micro_batch", 16}}), 1.01 * memory({{"batch", 16}}));
  EXPECT_EQ(study.cores(study.complete({{"threads", 2}})), 2);
}

}  // namespace
}  // namespace trasmuon::lab
