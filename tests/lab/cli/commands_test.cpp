// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <trasmuon/version.h>

#include <sstream>

#include "lab/cli/program.h"

namespace trasmuon::lab {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Program, SaysItsVersion) {
  const test::TemporaryDirectory folder;
  const Ended ended = run_program(folder.path(), {"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, TRASMUON_VERSION "\n");
}

TEST(Program, HelpsEverywhereWithExamples) {
  const test::TemporaryDirectory folder;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{}, {"run"}, {"report"}, {"list"}, {"prepare"}}) {
    std::vector<std::string> arguments = command;
    arguments.emplace_back("--help");
    const Ended ended = run_program(folder.path(), arguments);
    EXPECT_EQ(ended.code, 0);
    EXPECT_TRUE(contains(ended.out, "Example")) << ended.out;
  }
  EXPECT_EQ(run_program(folder.path(), {"doctor", "--help"}).code, 0);
  EXPECT_EQ(run_program(folder.path(), {"bench", "--help"}).code, 0);
}

TEST(Program, RefusesUnknownArgumentsWithCode2) {
  const test::TemporaryDirectory folder;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"rum"}, {"run"}, {"run", "x", "--job", "3"}, {"run", "x", "--jobs", "0"}}) {
    const Ended ended = run_program(folder.path(), arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_FALSE(ended.error.empty());
  }
}

TEST(List, ShowsWhatThereIs) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "mine.toml",
                   "study = \"mechanistic\"\ntitle = \"My own\"\nseeds = 3\n[method.a]\nrule = \"muon\"\n"
                   "[part.grid]\nkappa = [10, 100]\n[part.again]\nkappa = 10\n");
  test::write_file(folder / "bad.toml", "study = \"mechanic\"\n");
  const std::vector<std::string> recipes = {"TRASMUON_RECIPES=" + folder.path()};
  const Ended all = run_program(folder.path(), {"list"}, recipes);
  EXPECT_EQ(all.code, 0);
  EXPECT_TRUE(contains(all.out, "mechanistic ")) << all.out;
  EXPECT_TRUE(contains(all.out, "mine                   6 runs  My own\n")) << all.out;
  EXPECT_TRUE(contains(all.out, "bad                bad.toml:1: there is no study 'mechanic'")) << all.out;

  const Ended methods = run_program(folder.path(), {"list", "methods", "mine"}, recipes);
  EXPECT_EQ(methods.out,
            "method a              muon\npart   grid           6 runs over kappa\npart   again          3 runs\n");
  EXPECT_TRUE(contains(run_program(folder.path(), {"list", "settings", "mechanistic"}).out, "burst_factor "));
  EXPECT_EQ(run_program(folder.path(), {"list", "rules"}).out, "trasmuon\nnormuon\nmuon\ndion\nadamw\n");
  EXPECT_TRUE(contains(run_program(folder.path(), {"list", "rules", "dion"}).out, "rank_fraction"));
  EXPECT_TRUE(contains(run_program(folder.path(), {"list", "studies"}).out, "mechanistic"));
}

TEST(List, AllRecipesOfTheProjectAreValid) {
  const test::TemporaryDirectory folder;
  std::istringstream lines(
      run_program(folder.path(), {"list", "recipes"}, {"TRASMUON_RECIPES=" TRASMUON_SOURCE "/recipes"}).out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(contains(line, " runs  ") || contains(line, "needs LibTorch")) << line;
  }
}

TEST(List, TheRecipeInTheDocumentationIsValid) {
  const std::string page = test::read_file(TRASMUON_SOURCE "/docs/lab.md");
  const std::size_t begin = page.find("```toml\n") + 8;
  const test::TemporaryDirectory folder;
  test::write_file(folder / "example.toml", page.substr(begin, page.find("```", begin) - begin));
  const Ended ended = run_program(folder.path(), {"list", "methods", "example.toml"});
  EXPECT_EQ(ended.error, "");
  EXPECT_TRUE(contains(ended.out, "part   table          144 runs over b_basis, kappa\n")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "part   no-bursts      4 runs\n")) << ended.out;
}

TEST(List, RefusesWhatThereIsNot) {
  const test::TemporaryDirectory folder;
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Ended ended = run_program(folder.path(), arguments);
    EXPECT_EQ(ended.code, 1);
    return ended.error;
  };
  EXPECT_EQ(error({"list", "recipe"}), "trasmuon: cannot list 'recipe'; did you mean 'recipes'?\n");
  EXPECT_EQ(error({"list", "settings"}), "trasmuon: list settings needs the name of a study\n");
  EXPECT_EQ(error({"list", "settings", "mechanisic"}),
            "trasmuon: there is no study 'mechanisic'; did you mean 'mechanistic'?\n");
}

TEST(Doctor, WorksWithoutAnything) {
  const test::TemporaryDirectory folder;
  const Ended ended =
      run_program(folder.path(), {"doctor"}, {"PATH=", "TRASMUON_RECIPES=/nowhere", "TRASMUON_ISA=avx2"});
  EXPECT_EQ(ended.code, 0);
  for (const char* line : {"trasmuon ", "compiler ", "cpu ", "kernels ", "threads ", "libtorch ", "blas ",
                           "; language and vision run there with device = cuda", "gnuplot        not found", "recipes ",
                           "studies        mechanistic"}) {
    EXPECT_TRUE(contains(ended.out, line)) << line << "\n" << ended.out;
  }
  EXPECT_TRUE(contains(ended.out, "TRASMUON_ISA limits it to avx2")) << ended.out;
}

}  // namespace
}  // namespace trasmuon::lab
