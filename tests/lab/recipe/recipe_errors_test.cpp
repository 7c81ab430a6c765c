// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lab/recipe/recipe.h"
#include "lab/support/plans.h"
#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

std::string refused(const std::string& recipe, const std::vector<std::string>& overrides = {}) {
  return test::error_of([&] { plan_of(recipe, overrides); });
}

/// A whole recipe with these lines in the section of its only method, rule trasmuon (lines 2, 3), and in its only
/// part (the line after).
std::string with(const std::string& method, const std::string& part = "", const std::string& head = "") {
  return "study = \"tiny\"" + head + "\n[method.clip-sf]\nrule = \"trasmuon\"\n" + method + "\n[part.table]\n" + part +
         "\n";
}

TEST(RecipeErrors, TheHead) {
  EXPECT_EQ(refused("title = \"x\""), "x.toml: study is missing");
  EXPECT_EQ(refused("study = \"tinny\""), "x.toml:1: there is no study 'tinny'; did you mean 'tiny'?");
  EXPECT_EQ(refused("\nstudy = \"heavy\""),
            "x.toml:2: study 'heavy' needs LibTorch, and this program was built without it; see `trasmuon doctor`");
  EXPECT_EQ(refused("study = 3"), "x.toml:1: study must be text in quotes, got 3");
  EXPECT_EQ(refused(with("", "", "\nsteps = 3")), "x.toml:2: steps belongs under [settings]");
  EXPECT_EQ(refused(with("", "", "\nseed = 3")),
            "x.toml:2: unknown key 'seed' before the first section; did you mean 'seeds'?");
  const std::string seeds =
      "x.toml:2: seeds must be a whole number in [1, 100000] or a list of different whole numbers >= 0, got ";
  for (const char* bad : {"0", "-1", "1.5", "[]", "[1,1]", "[-1]", "[0.5]", "true", "200000"}) {
    EXPECT_EQ(refused(with("", "", std::string("\nseeds = ") + bad)), seeds + bad);
  }
}

TEST(RecipeErrors, Sections) {
  const std::string rule = " is not a section of a recipe; sections are [settings], [method.NAME] and [part.NAME]";
  EXPECT_EQ(refused(with("[metod.a]")), "x.toml:4: [metod.a]" + rule);
  EXPECT_EQ(refused(with("[table]")), "x.toml:4: [table]" + rule);
  EXPECT_EQ(refused(with("[method.a.b]\nrule = \"muon\"")),
            "x.toml:4: [method.a.b] the name after the first dot must consist of letters, digits, - and _");
  EXPECT_EQ(refused("study = \"tiny\"\n[method.a]\nrule = \"muon\""),
            "x.toml: there is no [part.NAME]: nothing to run");
  EXPECT_EQ(refused("study = \"tiny\"\n[part.a]"),
            "x.toml:2: [part.a] has no method; the recipe needs a [method.NAME]");
}

TEST(RecipeErrors, Presets) {
  EXPECT_EQ(refused(with("preset = \"letter\"")),
            "x.toml:4: [method.clip-sf] trasmuon: preset must be one of default, paper, released, got 'letter'");
  EXPECT_EQ(refused(with("preset = 3")), "x.toml:4: [method.clip-sf] preset must be text in quotes, got 3");
}

TEST(RecipeErrors, Settings) {
  EXPECT_EQ(refused(with("[settings]\nkapa = 3")),
            "x.toml:5: [settings] tiny has no setting 'kapa'; did you mean 'kappa'?");
  EXPECT_EQ(refused(with("[settings]\nkappa = -3")), "x.toml:5: [settings] tiny: kappa must be >= 1, got -3");
  EXPECT_EQ(refused(with("[settings]\nlayers = \"some\"")),
            "x.toml:5: [settings] tiny: layers must be hidden or all, got 'some'");
  EXPECT_EQ(refused(with("[settings]\nkappa = [1, 2]")),
            "x.toml:5: [settings] kappa must be a single value; lists are allowed only in a [part]");
  EXPECT_EQ(refused(with("[settings]\nsteps = 2.5")),
            "x.toml:5: [settings] tiny: steps must be a whole number >= 1, got 2.5");
}

TEST(RecipeErrors, Methods) {
  EXPECT_EQ(refused("study = \"tiny\"\n[method.a]\nlr = 1\n[part.p]"),
            "x.toml:2: [method.a] rule is missing; it must be trasmuon, normuon, muon, dion or adamw");
  EXPECT_EQ(refused("study = \"tiny\"\n[method.a]\nrule = \"sgd\"\n[part.p]"),
            "x.toml:3: [method.a] rule must be one of trasmuon, normuon, muon, dion, adamw, got 'sgd'");
  EXPECT_EQ(refused(with("alpa = 3")),
            "x.toml:4: [method.clip-sf] 'alpa' is neither a field of trasmuon (method clip-sf) nor a setting of tiny; "
            "did you mean 'alpha'?");
  EXPECT_EQ(refused(with("alpha = -1")), "x.toml:4: [method.clip-sf] trasmuon: alpha must be > 0, got -1");
  EXPECT_EQ(refused(with("clip = \"sof\"")),
            "x.toml:4: [method.clip-sf] trasmuon: clip must be one of none, soft, hard, got 'sof'");
  EXPECT_EQ(refused(with("lr = 1000")), "x.toml:4: [method.clip-sf] trasmuon: lr * weight_decay must be <= 1, got 10");
  EXPECT_EQ(refused(with("clip = \"hard\"\ntrigger = 0")),
            "x.toml:5: [method.clip-sf] trasmuon: trigger must be > 0 when clip is hard, got 0");
  EXPECT_EQ(refused(with("weight_decay = 5000")),  // names a field that the recipe leaves alone
            "x.toml:5: [part.table] method clip-sf: trasmuon: lr * weight_decay must be <= 1, got 5");
  EXPECT_EQ(refused(with("steps = 0")), "x.toml:4: [method.clip-sf] tiny: steps must be >= 1, got 0");
}

TEST(RecipeErrors, Parts) {
  EXPECT_EQ(refused(with("", "methods = [\"clipsf\"]")),
            "x.toml:6: [part.table] methods: there is no [method.clipsf]; did you mean 'clip-sf'?");
  EXPECT_EQ(refused(with("", "methods = [\"clip-sf\", \"clip-sf\"]")),
            "x.toml:6: [part.table] methods: clip-sf appears twice");
  EXPECT_EQ(refused(with("", "methods = []")),
            "x.toml:5: [part.table] has no method; the recipe needs a [method.NAME]");
  EXPECT_EQ(refused(with("", "kappa = []")), "x.toml:6: [part.table] kappa must not be an empty list");
  EXPECT_EQ(refused(with("", "kappa = [10, 0]")), "x.toml:6: [part.table] tiny: kappa must be >= 1, got 0");
  EXPECT_EQ(refused(with("", "kappa = [100, 1e2]")),
            "x.toml:5: [part.table] a list has the same value twice: {\"kappa\":100.0}");
  EXPECT_EQ(refused(with("[method.a]\nrule = \"adamw\"", "alpha = [1, 2]")),
            "x.toml:7: [part.table] 'alpha' is neither a field of adamw (method a) nor a setting of tiny; known: lr, "
            "weight_decay, beta1, beta2, eps, steps, kappa, bursts, layers, accident, diary, pause, memory");
  EXPECT_EQ(
      refused(with("", "seeds = 0")),
      "x.toml:6: [part.table] seeds must be a whole number in [1, 100000] or a list of different whole numbers >= "
      "0, got 0");
}

TEST(RecipeErrors, Overrides) {
  EXPECT_EQ(refused(tiny_recipe(), {"kapa=3"}), "--set kapa=3: tiny has no setting 'kapa'; did you mean 'kappa'?");
  EXPECT_EQ(refused(tiny_recipe(), {"kappa=0"}), "--set kappa=0: tiny: kappa must be >= 1, got 0");
  EXPECT_EQ(refused(tiny_recipe(), {"layers=some"}),
            "--set layers=some: tiny: layers must be hidden or all, got 'some'");
  EXPECT_EQ(refused(tiny_recipe(), {"steps"}), "--set steps: must be key=value");
  EXPECT_EQ(refused(tiny_recipe(), {"kappa=[1,2]"}), "--set kappa=[1,2]: kappa must be a single value");
  EXPECT_EQ(refused(tiny_recipe(), {"seed=2"}), "--set seed=2: tiny has no setting 'seed'; did you mean 'seeds'?");
  EXPECT_EQ(refused(tiny_recipe(), {"seeds=x"}),
            "--set seeds=x: seeds must be a whole number in [1, 100000] or a list of different whole numbers >= 0, got "
            "\"x\"");
  EXPECT_EQ(refused(with(""), {"layers=\xE9"}), "--set layers=\xE9: must be UTF-8");
}

TEST(RecipeErrors, GridsThatDoNotFitIntoMemory) {
  std::string axes;
  for (const char* axis : {"lr", "alpha", "eps", "rms_scale", "kappa"}) {
    axes += std::string(axis) + " = [";
    for (int i = 1; i <= 1000; ++i) axes += std::to_string(i) + ",";
    axes += "]\n";
  }
  const std::string error = refused(with("", axes + "seeds = 100000"));
  EXPECT_TRUE(error.starts_with("x.toml: the number of runs must be <= ")) << error;
  EXPECT_TRUE(error.ends_with(", got 1e+20 (about 4.1e+05 EB): [part.table] 1e+20")) << error;

  const std::string large = refused(with("", "memory = 1e18"));
  EXPECT_TRUE(large.starts_with("x.toml:5: [part.table] method clip-sf: memory of a run must be <= ")) << large;
  EXPECT_TRUE(large.ends_with(", got about 1 EB")) << large;
}

TEST(RecipeErrors, OptionsThatTheOptimizerRefuses) {
  EXPECT_EQ(refused(with("momentum_dtype = \"bf16\"")),
            "x.toml:4: [method.clip-sf] trasmuon: momentum_dtype must be automatic with f64 weights, got bf16");
  EXPECT_EQ(refused(with("ns_precision = \"tf32\"")),
            "x.toml:4: [method.clip-sf] trasmuon: ns_precision must be automatic, f32 or bf16 on the CPU, got 'tf32'");
}

TEST(RecipeErrors, NamesAndTextsThatRecordsCannotHold) {
  EXPECT_EQ(refused(with("[method." + std::string(101, 'a') + "]\nrule = \"muon\"")),
            "x.toml:4: [method." + std::string(101, 'a') + "] the name must have at most 100 characters, got 101");
  EXPECT_EQ(refused(with("", "diary = \"\xff\"")), "x.toml:6: [part.table] text must be UTF-8");
  EXPECT_EQ(refused(tiny_recipe(), {"diary=\xff"}), "--set diary=\xff: must be UTF-8");
}

TEST(RecipeErrors, TheFile) {
  EXPECT_EQ(test::error_of([] { read_recipe("/none.toml"); }), "cannot read /none.toml: No such file or directory");
}

}  // namespace
}  // namespace trasmuon::lab
