// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/paper_numbers.h"

#include <gtest/gtest.h>

#include "lab/vision/report/groups.h"
#include "lab/vision/synthetic_vision.h"

namespace trasmuon::lab {
namespace {

TEST(PaperNumbers, AreThoseOfThePapersTables) {
  const auto is = [](PaperTable table, const char* method, double mean, double deviation) {
    const auto found = paper_accuracy(table, method);
    ASSERT_TRUE(found) << method;
    EXPECT_EQ(found->mean, mean) << method;
    EXPECT_EQ(found->deviation, deviation) << method;
  };
  is(PaperTable::cifar100_bursts, "trasmuon", 58.77, 0.22);
  is(PaperTable::cifar100_bursts, "normuon", 58.31, 0.52);
  is(PaperTable::cifar100_bursts, "muon", 57.48, 0.52);
  is(PaperTable::cifar100_bursts, "adamw", 35.03, 5.05);
  is(PaperTable::imagenet100, "trasmuon", 77.47, 0.34);
  is(PaperTable::imagenet100, "normuon", 77.10, 0.21);
  is(PaperTable::imagenet100, "muon", 69.69, 0.08);
  is(PaperTable::imagenet100, "adamw", 42.53, 4.38);
  EXPECT_FALSE(paper_accuracy(PaperTable::cifar100_bursts, "noclip"));
}

TEST(PaperNumbers, TheDataChoosesTheTable) {
  const RunSet cifar = vision_runs(), imagenet = vision_runs({.burst_period = 0, .data = "imagenet100"});
  EXPECT_EQ(VisionGroups(cifar).paper_table(), PaperTable::cifar100_bursts);
  EXPECT_TRUE(VisionGroups(cifar).bursts());
  EXPECT_EQ(VisionGroups(imagenet).paper_table(), PaperTable::imagenet100);
  EXPECT_FALSE(VisionGroups(imagenet).bursts());
}

}  // namespace
}  // namespace trasmuon::lab
