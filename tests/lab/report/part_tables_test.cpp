// SPDX-License-Identifier: Apache-2.0
#include "lab/report/part_tables.h"

#include <gtest/gtest.h>

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {
namespace {

RunSet runs_with(const std::string& axis, const std::vector<Json>& places) {
  RunSet runs{.name = "", .title = "", .study = "", .command = "", .parts = {"one"}, .methods = {"muon"}, .groups = {}};
  for (const Json& place : places) {
    Json axes = Json::object();
    axes[axis] = place;
    runs.groups.push_back(make_group("one", "muon", axes, axes, 3, [](std::uint64_t seed) {
      return Json{{"score", seed}, {"other", 7}};
    }));
  }
  return runs;
}

std::string markdown_of(const RunSet& runs) {
  Document document{"title", {}};
  add_part_tables(runs, {{"score", "points"}, {"other", "rest", false}}, 1, {{"one", "what it is for"}}, document);
  return to_markdown(document);
}

TEST(PartTables, RowsShowInWhatTheyDiffer) {
  const std::string text = markdown_of(runs_with("damping", {"mean", "blind"}));
  EXPECT_NE(text.find("**Part one: what it is for**"), std::string::npos) << text;
  EXPECT_NE(text.find("| Muon | damping = mean | 1 (0.5, 1.5) | 7 | 3 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| Muon | damping = blind | 1 (0.5, 1.5) | 7 | 3 |"), std::string::npos) << text;
}

TEST(PartTables, ALongAxisBecomesAGrid) {
  const std::string text = markdown_of(runs_with("lr_scale", {0.1, 0.2, 0.3, 0.4, 1e4}));
  EXPECT_NE(text.find("**Part one: what it is for: points by lr\\_scale**"), std::string::npos) << text;
  EXPECT_NE(text.find("| method | 0.1 | 0.2 | 0.3 | 0.4 | 1e4 | seeds |"), std::string::npos) << text;
  EXPECT_NE(text.find("| Muon | 1 | 1 | 1 | 1 | 1 | 3 |"), std::string::npos) << text;
}

TEST(PartTables, ShowEveryGroup) {
  RunSet runs = runs_with("a", {1, 2});
  runs.parts.push_back("two");
  runs.groups.push_back(make_group("two", "adamw", Json::object(), Json::object(), 1, [](auto) {
    return Json{{"score", 9}};
  }));
  const std::string text = markdown_of(runs);
  EXPECT_NE(text.find("**Part two**"), std::string::npos) << text;
  EXPECT_NE(text.find("| AdamW | 9 | – | 1 |"), std::string::npos) << text;
}

}  // namespace
}  // namespace trasmuon::lab
