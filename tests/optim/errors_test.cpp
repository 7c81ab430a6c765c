// SPDX-License-Identifier: Apache-2.0
// Every refusal names the field or tensor, the value and the rule, and changes nothing.
#include <gtest/gtest.h>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::error_of;

class Errors : public testing::Test {
 protected:
  std::vector<float> w = std::vector<float>(24, 1.0f), other = std::vector<float>(24, 1.0f),
                     g = std::vector<float>(24, 1.0f);

  std::string building(std::vector<Parameter> parameters, Options options = TrasMuonOptions{}) {
    return error_of([&] { Optimizer({{options, std::move(parameters)}}); });
  }
  std::string stepping(const TensorView& gradient) {
    Optimizer optimizer({{TrasMuonOptions{}, {{"w", view(w.data(), {4, 6})}}}});
    const auto before = w;
    const std::string text = error_of([&] { optimizer.step({&gradient, 1}); });
    EXPECT_EQ(w, before);
    EXPECT_EQ(*static_cast<std::int64_t*>(optimizer.state(0, "step").data), 0);
    return text;
  }
};

TEST_F(Errors, Construction) {
  EXPECT_EQ(error_of([] { Optimizer({}); }), "optimizer: groups must not be empty");
  EXPECT_EQ(building({}), "group 0 (trasmuon): has no parameters");
  EXPECT_EQ(building({{"", view(w.data(), {4, 6})}}), "group 0: a parameter has no name");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6})}, {"a", view(other.data(), {4, 6})}}),
            "parameter 'a': listed twice");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6})}, {"b", view(w.data(), {4, 6})}}),
            "parameter 'b': shares memory with 'a'");
  EXPECT_EQ(building({{"a", view(w.data(), {2, 6})}, {"b", view(w.data() + 8, {2, 6})}}),
            "parameter 'b': shares memory with 'a'");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 3}, 6)}, {"b", view(w.data() + 3, {4, 3}, 6)}}), "no error");
  EXPECT_EQ(building({{"a", view(static_cast<float*>(nullptr), {4, 6})}}), "parameter 'a': weight has no data");
  EXPECT_EQ(building({{"a", view(w.data(), {0, 6})}}), "parameter 'a': weight must not be empty, got shape [0, 6]");
  EXPECT_EQ(building({{"a", view(w.data(), {})}}),
            "parameter 'a': weight shape must have at least one dimension, got []");
  EXPECT_EQ(building({{"a", view(w.data(), {24})}}),
            "parameter 'a': a matrix rule needs at least two dimensions, got shape [24]; use adamw");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6}, 5)}}),
            "parameter 'a': row_stride must be 0 or >= 6 (the row length), got 5");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6}), Layout::batch}}),
            "parameter 'a': layout batch needs three dimensions, got shape [4, 6]");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6}), Layout::automatic, false, {3, 2}}}),
            "parameter 'a': row_blocks must sum to the 4 output rows, got 5");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6}), Layout::automatic, false, {4, 0}}}),
            "parameter 'a': row_blocks must be > 0, got 0");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6}), Layout::automatic, false, {2, 2}}}, AdamWOptions{}),
            "parameter 'a': row_blocks have no meaning under adamw");
  std::vector<std::int64_t> integers(24);
  EXPECT_EQ(building({{"a", view(integers.data(), {4, 6})}}),
            "parameter 'a': weight dtype must be f64, f32, bf16 or f16, got i64");
  EXPECT_EQ(error_of([] { Shape({1, 2, 3, 4, 5, 6}); }), "shape: rank must be <= 5, got 6");
  EXPECT_EQ(error_of([] { Shape({1, -2}); }), "shape: sizes must be >= 0, got -2");
  EXPECT_EQ(error_of([] {
              Shape({std::int64_t{1} << 40, std::int64_t{1} << 40});
            }),
            "shape: the number of elements must fit 64 bits");
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6})}}, TrasMuonOptions{.alpha = -1}),
            "trasmuon: alpha must be > 0, got -1");
}

TEST_F(Errors, SizesBeyondTheAddressSpace) {
  constexpr std::int64_t large = std::int64_t{1} << 62, wide = std::int64_t{1} << 59;
  EXPECT_EQ(building({{"a", view(w.data(), {4, 6}), Layout::automatic, false, {large, large, large, large, 4}}}),
            "parameter 'a': row_blocks must sum to the 4 output rows, got more than 64 bits hold");
  // 2^61 elements of f64 take 2^64 bytes; of bf16 they fit, but a master weight does not.
  std::vector<double> doubles(24);
  std::vector<bf16> halves(24);
  const std::string too_far = "parameter 'a': first and last element must be at most 2^53 elements apart, got shape ";
  for (const Options& rule : {Options(TrasMuonOptions{}), Options(DionOptions{}), Options(AdamWOptions{})}) {
    EXPECT_EQ(building({{"a", view(doubles.data(), {4, wide})}}, rule),
              too_far + "[4, 576460752303423488] with row_stride 0");
    EXPECT_EQ(building({{"a", view(halves.data(), {4, wide})}}, rule),
              too_far + "[4, 576460752303423488] with row_stride 0");
    EXPECT_EQ(building({{"a", view(w.data(), {4, 6}, large)}}, rule),
              too_far + "[4, 6] with row_stride 4611686018427387904");
    EXPECT_EQ(building({{"a", view(w.data(), {2, 2, 6}, large)}}, rule),
              too_far + "[2, 2, 6] with row_stride 4611686018427387904");
  }
  EXPECT_EQ(building({{"a", view(halves.data(), {std::int64_t{1} << 62})}}, AdamWOptions{}),
            too_far + "[4611686018427387904] with row_stride 0");
  auto* last_page = reinterpret_cast<float*>(~std::uintptr_t{4095});
  EXPECT_EQ(building({{"a", view(last_page, {4, 6}, 1024)}}),
            "parameter 'a': data must be followed by 12312 bytes of addresses, got shape [4, 6] with row_stride 1024");
  EXPECT_EQ(stepping(view(g.data(), {4, 6}, large)),
            "gradient of 'w': first and last element must be at most 2^53 elements apart, got shape [4, 6] with "
            "row_stride 4611686018427387904");
}

TEST_F(Errors, Stepping) {
  std::vector<double> doubles(24);
  std::vector<std::int64_t> integers(24);
  EXPECT_EQ(stepping(view(g.data(), {6, 4})), "gradient of 'w': shape must be [4, 6], got [6, 4]");
  EXPECT_EQ(stepping(view(doubles.data(), {4, 6})), "gradient of 'w': dtype must be f32, bf16 or f16, got f64");
  EXPECT_EQ(stepping(view(integers.data(), {4, 6})), "gradient of 'w': dtype must be f64, f32, bf16 or f16, got i64");
  EXPECT_EQ(stepping(view(g.data(), {4, 6}, 3)),
            "gradient of 'w': row_stride must be 0 or >= 6 (the row length), got 3");
  Optimizer optimizer({{TrasMuonOptions{}, {{"w", view(w.data(), {4, 6})}}}});
  EXPECT_EQ(error_of([&] { optimizer.step({}); }), "step: needs one gradient per parameter, 1, got 0");
}

TEST_F(Errors, AWrongGradientAnywhereStopsTheStepBeforeAnyWeightChanges) {
  Optimizer optimizer({{TrasMuonOptions{}, {{"a", view(w.data(), {4, 6})}, {"b", view(other.data(), {4, 6})}}}});
  const auto before = w;
  const TensorView gradients[] = {view(g.data(), {4, 6}), view(g.data(), {2, 12})};
  EXPECT_EQ(error_of([&] { optimizer.step(gradients); }), "gradient of 'b': shape must be [4, 6], got [2, 12]");
  EXPECT_EQ(w, before);
}

TEST_F(Errors, LookingUpAndChanging) {
  Optimizer optimizer(
      {{TrasMuonOptions{}, {{"w", view(w.data(), {4, 6})}}}, {DionOptions{}, {{"v", view(other.data(), {4, 6})}}}});
  EXPECT_EQ(error_of([&] { optimizer.index_of("u"); }), "no parameter named 'u'");
  EXPECT_EQ(error_of([&] { optimizer.parameter(2); }), "parameter index must be < 2, got 2");
  EXPECT_EQ(error_of([&] { optimizer.options(2); }), "group index must be < 2, got 2");
  EXPECT_EQ(error_of([&] { optimizer.state(0, "exp_avg"); }), "parameter 'w': has no state 'exp_avg'");
  EXPECT_EQ(error_of([&] { optimizer.rebind_weight(0, other.data()); }), "parameter 'w': shares memory with 'v'");
  EXPECT_EQ(error_of([&] { optimizer.rebind_weight(0, nullptr); }), "parameter 'w': weight has no data");
  EXPECT_EQ(error_of([&] { optimizer.set(0, "lr", -1); }), "trasmuon: lr must be in [0, 1e+20], got -1");
  EXPECT_EQ(error_of([&] { optimizer.set(0, "momentum", 0.5); }), "trasmuon: has no field 'momentum'");
  EXPECT_EQ(error_of([&] { optimizer.set_options(0, MuonOptions{}); }), "group 0: rule must stay trasmuon, got muon");
  EXPECT_EQ(error_of([&] { optimizer.set(1, "rank_fraction", 0.5); }),
            "group 1: dion's rank_fraction cannot change after construction: it shapes the state");
  EXPECT_EQ(std::get<TrasMuonOptions>(optimizer.options(0)).lr, TrasMuonOptions{}.lr);
}

}  // namespace
}  // namespace trasmuon
