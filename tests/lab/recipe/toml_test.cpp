// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/toml.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

std::string refused(const std::string& text) {
  return test::error_of([&] { parse_toml(text, "x.toml"); });
}

Json value(const std::string& text) { return parse_toml("key = " + text, "x.toml").front().entries.front().value; }

TEST(Toml, Values) {
  EXPECT_EQ(value("3"), Json(3));
  EXPECT_TRUE(value("3").is_number_integer());
  EXPECT_EQ(value("-0.5"), Json(-0.5));
  EXPECT_EQ(value("1e-3"), Json(1e-3));
  EXPECT_TRUE(value("1e2").is_number_float());
  EXPECT_EQ(value("true"), Json(true));
  EXPECT_EQ(value("\"true\""), Json("true"));
  EXPECT_EQ(value("'a \"b\"'"), Json("a \"b\""));
  EXPECT_EQ(value("\"\""), Json(""));
  EXPECT_EQ(value("\"no #comment, = here\"  # but here"), Json("no #comment, = here"));
  EXPECT_EQ(value("\"1, 2; 3\""), Json("1, 2; 3"));
}

TEST(Toml, Lists) {
  EXPECT_EQ(value("[1e2, 1e4]"), Json({1e2, 1e4}));
  EXPECT_EQ(value("[ \"a, b]\", 'c' ]  # two"), Json({"a, b]", "c"}));
  EXPECT_EQ(value("[true]"), Json::array({true}));
  EXPECT_EQ(value("[]"), Json::array());
  EXPECT_EQ(value("[1, # one\n  # nothing\n\n 2,\n]"), Json({1, 2}));
}

TEST(Toml, SectionsKeepTheirOrderAndPlace) {
  const auto sections = parse_toml("a = 1\r\n[z.b-1]  # comment\nx = 2\n\n[empty]\n", "x.toml");
  ASSERT_EQ(sections.size(), 3u);
  EXPECT_EQ(sections[0].entries[0].where, "x.toml:1:");
  EXPECT_EQ(sections[1].name, "z.b-1");
  EXPECT_EQ(sections[1].where, "x.toml:2: [z.b-1]");
  EXPECT_EQ(sections[1].entries[0].where, "x.toml:3: [z.b-1]");
  EXPECT_EQ(sections[2].name, "empty");
  EXPECT_TRUE(sections[2].entries.empty());
}

TEST(Toml, RefusesWithTheLine) {
  EXPECT_EQ(refused("steps 3"), "x.toml:1: a line must be key = value, got 'steps 3'");
  EXPECT_EQ(refused("[a]\nb c = 3"), "x.toml:2: [a] a line must be key = value, got 'b c = 3'");
  EXPECT_EQ(refused("\n[a"), "x.toml:2: a section must be [name], got '[a'");
  EXPECT_EQ(refused("[]"), "x.toml:1: a section must be [name], got '[]'");
  EXPECT_EQ(refused("[[a]]"), "x.toml:1: a section must be [name], got '[[a]]'");
  EXPECT_EQ(refused("[a]\n[b]\n[a]"), "x.toml:3: [a] appears twice");
  EXPECT_EQ(refused("[a]\nk = 1\nk = 2"), "x.toml:3: [a] k appears twice");
  EXPECT_EQ(refused("\nk = [1,\n2"), "x.toml:2: k: the list has no closing ]");
  const std::string rule = "must be \"text\", a number, true, false or a list of these, got ";
  EXPECT_EQ(refused("k = text"), "x.toml:1: k " + rule + "text");
  EXPECT_EQ(refused("k ="), "x.toml:1: k " + rule + "nothing");
  EXPECT_EQ(refused("k = \"open"), "x.toml:1: k " + rule + "\"open");
  EXPECT_EQ(refused("k = \"a\" b"), "x.toml:1: k " + rule + "\"a\" b");
  EXPECT_EQ(refused("k = \"a\\n\""), "x.toml:1: k " + rule + "\"a\\n\"");  // escapes are not read
  EXPECT_EQ(refused("k = [1, two]"), "x.toml:1: k " + rule + "[1, two]");
  EXPECT_EQ(refused("k = [1] 2"), "x.toml:1: k " + rule + "[1] 2");
  EXPECT_EQ(refused("k = [[1], [2]]"), "x.toml:1: k " + rule + "[[1], [2]]");
  EXPECT_EQ(refused("k = inf"), "x.toml:1: k " + rule + "inf");
  EXPECT_EQ(refused("k = 1e999"), "x.toml:1: k " + rule + "1e999");
  EXPECT_EQ(refused("k = 0x10"), "x.toml:1: k " + rule + "0x10");
  EXPECT_EQ(refused("k = [1,,2]"), "x.toml:1: k " + rule + "[1,,2]");
  EXPECT_EQ(refused("[a]\nb = 1\nc = \"caf\xE9\""), "x.toml:3: [a] text must be UTF-8");
  EXPECT_EQ(value("\"caf\xC3\xA9\""), Json("caf\xC3\xA9"));
}

}  // namespace
}  // namespace trasmuon::lab
