// SPDX-License-Identifier: Apache-2.0
#include "lab/study/registry.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

// The list of known studies is that of lab/support/tiny_study.cpp: "tiny", and "heavy", which needs LibTorch.
namespace trasmuon::lab {
namespace {

std::string error_of(const std::string& name) {
  return test::error_of([&] { find_study(name); });
}

TEST(Registry, FindsStudiesThatThisBuildCanRun) {
  EXPECT_EQ(find_study("tiny").name(), "tiny");
  EXPECT_EQ(error_of("tinny"), "there is no study 'tinny'; did you mean 'tiny'?");
  EXPECT_EQ(error_of("heavy"),
            "study 'heavy' needs LibTorch, and this program was built without it; see `trasmuon doctor`");
}

TEST(Registry, ListsOnlyStudiesThatThisBuildCanRun) {
  ASSERT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies().front()->name(), "tiny");
  EXPECT_EQ(known_studies().size(), 2u);
}

TEST(Registry, KnowsTheOthersForTheirReports) {
  ASSERT_NE(find_known_study("heavy"), nullptr);
  EXPECT_EQ(find_known_study("heavy")->missing(), "LibTorch");
  EXPECT_EQ(find_known_study("tinny"), nullptr);
}

}  // namespace
}  // namespace trasmuon::lab
