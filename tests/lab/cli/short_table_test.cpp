// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/short_table.h"

#include <gtest/gtest.h>

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {
namespace {

RunSet sample() {
  RunSet set{
      .name = "x", .title = "", .study = "x", .command = "", .parts = {"table"}, .methods = {"muon"}, .groups = {}};
  for (const int kappa : {10, 100}) {
    set.groups.push_back(make_group("table", "muon", {{"kappa", kappa}}, {}, 3, [&](std::uint64_t seed) {
      return Json{{"final_loss", kappa * jitter(seed)}, {"spikes", 2}};
    }));
  }
  return set;
}

TEST(ShortTable, IsATableWhereThereIsRoom) {
  const std::string table =
      "table: medians over the seeds\n"
      "method         kappa        final_loss         spikes  seeds\n"
      "muon           10                 10.1              2      3\n"
      "muon           100                 101              2      3\n";
  EXPECT_EQ(short_table(sample(), {}), table);
  EXPECT_EQ(short_table(sample(), {}, 60), table);
}

TEST(ShortTable, IsAListOnANarrowTerminal) {
  EXPECT_EQ(short_table(sample(), {"final_loss"}, 20),
            "table: medians over the seeds\nmuon\n kappa 10\n final_loss 10.1\n seeds 3\nmuon\n kappa 100\n final_loss "
            "101\n seeds 3\n");
}

TEST(ShortTable, MakesRoomForLongNames) {
  RunSet set = sample();
  for (SeedGroup& group : set.groups) group.method = "a-method-with-a-long-name";
  const std::string text = short_table(set, {"spikes"});
  EXPECT_NE(text.find("method                    kappa            spikes  seeds\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace trasmuon::lab
