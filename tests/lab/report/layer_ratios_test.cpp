// SPDX-License-Identifier: Apache-2.0
#include "lab/report/layer_ratios.h"

#include <gtest/gtest.h>

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {
namespace {

std::string table_of(int steps) {
  const test::TemporaryDirectory folder;
  RunSet runs{.name = "", .title = "", .study = "", .command = "", .parts = {}, .methods = {}, .groups = {}};
  runs.groups.push_back(make_group("p", "trasmuon", Json::object(), {{"trigger", 2}}, 2, [](std::uint64_t) -> Json {
    return {{"final_loss", 1}};
  }));
  write_tables(runs, folder, [&](const RunSpec&, RunLog& log) {
    const std::vector<std::string> columns = {"step", "block0.up.weight", "block1.up.weight", "head.weight"};
    for (int step = 0; step < steps; ++step) {
      const double late = step >= 100 ? 1 : 0;
      log.table("ratio_max", columns).row({double(step), 1 + 4 * late, 3 + 4 * late, 1});
      log.table("damped_share", columns).row({double(step), 0, 0.5 * late, 0});
    }
  });
  Document document{"t", {}};
  add_layer_ratios(runs.groups.front(), document);
  return to_markdown(document);
}

TEST(LayerRatios, SumUpTheBlocksOfAKindBeforeAndAfterStep100) {
  const std::string text = table_of(200);
  EXPECT_NE(text.find("the trigger is 2"), std::string::npos) << text;
  EXPECT_NE(text.find("| up | 2 | 6 | 7 | 50 % | 100 % | 0 % | 25 % |"), std::string::npos) << text;
  EXPECT_NE(text.find("| head | 1 | 1 | 1 | 0 % | 0 % | 0 % | 0 % |"), std::string::npos) << text;
}

TEST(LayerRatios, ShowDashesForShortRunsAndNothingWithoutTables) {
  EXPECT_NE(table_of(50).find("| up | 2 | – | – | 50 % | – | 0 % | – |"), std::string::npos) << table_of(50);
  EXPECT_EQ(table_of(0).find("Natural"), std::string::npos);
}

}  // namespace
}  // namespace trasmuon::lab
