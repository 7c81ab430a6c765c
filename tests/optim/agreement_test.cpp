// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/agreement.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "trasmuon/optimizer.h"

namespace trasmuon::test {
namespace {

struct Setting {
  Options options = TrasMuonOptions{};
  Parameter a{.name = "a"}, b{.name = "b"};
  OptimizerOptions settings;
  bool reversed = false;
};

std::string described(const std::function<void(Setting&)>& change = {}) {
  static std::vector<bf16> w(100), v(100);
  Setting s;
  s.a.weight = view(w.data(), {4, 5});
  s.b.weight = view(v.data(), {4, 5});
  if (change) change(s);
  std::vector<Parameter> parameters{s.a, s.b};
  if (s.reversed) std::swap(parameters[0], parameters[1]);
  return describe_table(Optimizer({{s.options, parameters}}, s.settings));
}

TEST(Agreement, ShardsOfOneWeightAgree) {
  const auto rank = [](std::int64_t first) {
    return described([=](Setting& s) {
      s.a.shard = RowShard{first, 12};
      if (first > 0) s.a.weight.shape = {8, 5};
    });
  };
  EXPECT_EQ(rank(0), rank(4));
  EXPECT_EQ(fingerprint(rank(0)), fingerprint(rank(4)));
  EXPECT_EQ(first_difference(rank(0), rank(4)), "");
}

TEST(Agreement, EverythingThatMattersShows) {
  const std::string mine = described();
  const std::vector<std::function<void(Setting&)>> changes{
      [](Setting& s) { s.a.name = "c"; },
      [](Setting& s) {
        s.a.weight.shape = {5, 4};
      },
      [](Setting& s) { s.a.weight.dtype = DType::f16; },
      [](Setting& s) { s.a.transposed = true; },
      [](Setting& s) {
        s.a.row_blocks = {1, 3};
      },
      [](Setting& s) { s.a.layout = Layout::flatten; },
      [](Setting& s) {
        s.a.shard = RowShard{0, 4};
      },
      [](Setting& s) { s.reversed = true; },
      [](Setting& s) { s.options = NorMuonOptions{}; },
      [](Setting& s) { set_field(s.options, "lr", 0.5); },
      [](Setting& s) { set_field(s.options, "momentum_dtype", "bf16"); },
      [](Setting& s) { s.settings.master_weights = true; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::string other = described(changes[i]);
    EXPECT_NE(fingerprint(mine), fingerprint(other)) << i;
    EXPECT_NE(first_difference(mine, other), "") << i;
  }
}

TEST(Agreement, TheFirstDifferenceIsNamed) {
  const std::string other = described([](Setting& s) { set_field(s.options, "lr", 0.5); });
  EXPECT_EQ(first_difference(described(), other), "line 3: 'group 0: lr = 0.001' and 'group 0: lr = 0.5'");
  EXPECT_EQ(first_difference("a\nb\n", "a\n"), "line 2: 'b' and nothing");
  EXPECT_EQ(first_difference("a\n\n", "a\n"), "line 2: '' and nothing");
  EXPECT_EQ(first_difference("a", "b"), "line 1: 'a' and 'b'");
  EXPECT_EQ(fingerprint(""), 0xcbf29ce484222325u);
}

}  // namespace
}  // namespace trasmuon::test
