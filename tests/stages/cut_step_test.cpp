// SPDX-License-Identifier: Apache-2.0
// What ranks that hold rows of one matrix decide from their tallies.
#include "stages/cut_step.h"

#include <gtest/gtest.h>

namespace trasmuon {
namespace {

TEST(CutStep, AMatrixIsSteppedIfEveryRankWithRowsHasAUsableGradient) {
  const double usable = tally_of(true, true, false), unusable = tally_of(true, true, true);
  const double missing = tally_of(true, false, false), no_rows = tally_of(false, true, true);
  const auto expect = [](double tally, bool active, bool refused) {
    EXPECT_EQ(verdict_of(tally).active, active) << tally;
    EXPECT_EQ(verdict_of(tally).refused, refused) << tally;
  };
  expect(65535 * usable + no_rows, true, false);
  expect(65534 * usable + unusable, false, true);
  expect(65535 * unusable, false, true);
  expect(usable + 65534 * missing, false, true);
  expect(65535 * missing, false, false);
  expect(no_rows, false, false);
}

}  // namespace
}  // namespace trasmuon
