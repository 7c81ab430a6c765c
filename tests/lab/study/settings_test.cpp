// SPDX-License-Identifier: Apache-2.0
#include "lab/study/settings.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

struct Sample {
  int steps = 100;
  double kappa = 1e4;
  bool bursts = true;
  std::string layers = "all", note;
};

template <OptionsOf<Sample> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("steps", s.steps, at_least(1), "training steps");
  visit("kappa", s.kappa, at_least(1), "condition number");
  visit("bursts", s.bursts, any_range(), "whether bursts happen");
  visit("layers", s.layers, one_of({"none", "hidden", "all"}), "which weights");
  visit("note", s.note, one_of({}), "any text");
}

Sample from(const Json& given) { return settings_from<Sample>(given, "sample"); }
std::string refused(const Json& given) {
  return test::error_of([&] { from(given); });
}

TEST(Settings, DefaultsAndJson) {
  const Json expected = {{"steps", 100}, {"kappa", 1e4}, {"bursts", true}, {"layers", "all"}, {"note", ""}};
  EXPECT_EQ(settings_to_json(from(Json::object())), expected);
  EXPECT_TRUE(settings_to_json(from({{"kappa", 100}}))["kappa"].is_number_float());  // 100 and 1e2: one run id
}

TEST(Settings, TakeValuesAndTheirTexts) {
  const Json typed = {{"steps", 7}, {"kappa", 2.5}, {"bursts", false}, {"layers", "hidden"}, {"note", "a b"}};
  const Json texts = {{"steps", "7"}, {"kappa", "2.5"}, {"bursts", "false"}, {"layers", "hidden"}, {"note", "a b"}};
  EXPECT_EQ(settings_to_json(from(typed)), typed);
  EXPECT_EQ(settings_to_json(from(texts)), typed);
  EXPECT_EQ(from({{"steps", 1e3}}).steps, 1000);
  EXPECT_EQ(from({{"steps", "1e3"}}).steps, 1000);
}

TEST(Settings, RefuseWithOwnerKeyRuleAndValue) {
  EXPECT_EQ(refused({{"kappa", -3}}), "sample: kappa must be >= 1, got -3");
  EXPECT_EQ(refused({{"kappa", "0.5"}}), "sample: kappa must be >= 1, got 0.5");
  EXPECT_EQ(refused({{"kappa", "big"}}), "sample: kappa must be a number >= 1, got 'big'");
  EXPECT_EQ(refused({{"kappa", true}}), "sample: kappa must be a number >= 1, got true");
  EXPECT_EQ(refused({{"kappa", "nan"}}), "sample: kappa must be >= 1, got nan");
  EXPECT_EQ(refused({{"steps", 0}}), "sample: steps must be >= 1, got 0");
  EXPECT_EQ(refused({{"steps", 2.5}}), "sample: steps must be a whole number >= 1, got 2.5");
  EXPECT_EQ(refused({{"steps", "1e10"}}), "sample: steps must be a whole number >= 1, got '1e10'");
  EXPECT_EQ(refused({{"bursts", 1}}), "sample: bursts must be true or false, got 1");
  EXPECT_EQ(refused({{"layers", "some"}}), "sample: layers must be none, hidden or all, got 'some'");
  EXPECT_EQ(refused({{"layers", 3}}), "sample: layers must be none, hidden or all, got 3");
  EXPECT_EQ(refused({{"note", 3}}), "sample: note must be text, got 3");
  EXPECT_EQ(refused({{"kapa", 3}}), "sample: has no setting 'kapa'; did you mean 'kappa'?");
}

TEST(Settings, DescribeThemselves) {
  const std::vector<Field> fields = describe_settings<Sample>();
  ASSERT_EQ(fields.size(), 5u);
  EXPECT_EQ(fields[0].rule, "a whole number >= 1");
  EXPECT_EQ(fields[1].name, "kappa");
  EXPECT_EQ(fields[1].default_value, "10000");
  EXPECT_EQ(fields[1].description, "condition number");
  EXPECT_EQ(fields[2].rule, "true or false");
  EXPECT_EQ(fields[3].rule, "none, hidden or all");
}

}  // namespace
}  // namespace trasmuon::lab
