// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/classify.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace trasmuon {
namespace {

const std::vector<NamedShape> kSmall = {
    {"wte.weight", {100, 8}}, {"h.0.attn.weight", {24, 8}}, {"h.1.attn.weight", {24, 8}}, {"ln_f.weight", {8}}};

Classified judge(std::string name, Shape shape) {
  // The second parameter avoids the error that nothing is left for the matrix rule.
  return classify(std::vector<NamedShape>{{"companion", {8, 8}}, {std::move(name), shape}}).back();
}

std::string error_of(const std::vector<NamedShape>& parameters, const std::vector<FamilyOverride>& overrides = {}) {
  return test::error_of([&] { classify(parameters, overrides); });
}

std::string families(const std::vector<FamilyOverride>& overrides) {
  std::string letters;
  for (const Classified& row : classify(kSmall, overrides)) letters += row.family == Family::matrix ? 'm' : 'a';
  return letters;
}

TEST(Classify, OnlyWholeWordsCount) {
  for (const char* name : {"attn.head_proj", "multihead.q_proj.weight", "normal.weight", "abnormal.weight",
                           "layers.0.self_attn.out_proj.weight", "h.0.attn.c_attn.weight", "layers.0.output.weight",
                           "attn.multihead_attn.in_proj_weight", "headless.weight", "embedded.weight", "biased.weight",
                           "scores.proj.weight", "blocks.3.fc.weight", "blocks.3.attn.head.weight", "encoder.fc.weight",
                           "fc1.weight", "lnorma.weight"}) {
    EXPECT_EQ(judge(name, {64, 64}).family, Family::matrix) << name << ": " << judge(name, {64, 64}).reason;
  }
  for (const char* name :
       {"embed", "model.embedding.weight", "tok_emb.weight", "word_embeddings.weight", "net.wpe.weight",
        "unembed.weight", "head.weight", "mlm_head.dense.weight", "final_layer_norm.weight", "bn1.weight",
        "encoder/LayerNorm/scale", "attn.bias", "output.weight", "score.weight", "module.model.fc.weight",
        "_orig_mod.output.weight", "decoder.output_layer.weight"}) {
    EXPECT_EQ(judge(name, {64, 64}).family, Family::adamw) << name;
  }
}

TEST(Classify, ShapeDecidesWhereTheNameDoesNot) {
  EXPECT_EQ(judge("encoder.pos_encoding", {50, 32}).reason, "positions");
  EXPECT_EQ(judge("blocks.0.attn.rel_pos", {64, 64}).reason, "positions");
  EXPECT_EQ(judge("layers.0.attn.pos_proj.weight", {64, 64}).reason, "hidden matrix");
  EXPECT_EQ(judge("layers.0.mixer.A_log", {64, 16}).reason, "state-space decay");
  EXPECT_EQ(judge("a", {}).reason, "scalar");
  EXPECT_EQ(judge("a", {8}).reason, "vector");
  EXPECT_EQ(judge("a", {1, 8}).reason, "side of 1");
  EXPECT_EQ(judge("a", {8, 1}).reason, "side of 1");
  EXPECT_EQ(judge("a", {8, 1, 1, 1}).reason, "side of 1");
  EXPECT_EQ(judge("a", {5, 1, 8}).reason, "side of 1");
  EXPECT_EQ(judge("a", {1, 8, 8}).reason, "hidden matrices");
  EXPECT_EQ(judge("a", {2, 2}).reason, "hidden matrix");
  EXPECT_EQ(judge("a", {8, 8, 3, 3}).reason, "hidden convolution");
  EXPECT_EQ(judge("a", {8, 8, 3, 3, 3}).reason, "hidden convolution");
  EXPECT_EQ(judge("a", {8, 3, 3, 3}).reason, "input convolution");
  EXPECT_EQ(judge("model", {8, 8}).reason, "hidden matrix");
}

TEST(Classify, LastOverrideWins) {
  EXPECT_EQ(families({}), "amma");
  EXPECT_EQ(families({{"wte.weight", Family::matrix}}), "mmma");
  EXPECT_EQ(families({{"h.*", Family::adamw}, {"h.1.*", Family::matrix}}), "aama");
  EXPECT_EQ(families({{"h.?.attn.weight", Family::adamw}, {"w?e*", Family::matrix}}), "maaa");
  // A pattern of the matrix rule may match a vector if a later pattern gives it to AdamW.
  EXPECT_EQ(families({{"*", Family::matrix}, {"ln_*", Family::adamw}}), "mmma");
  EXPECT_EQ(classify(kSmall, std::vector<FamilyOverride>{{"*t*e.w*", Family::matrix}})[0].reason, "override *t*e.w*");
}

TEST(Classify, PatternsCoverTheWholeName) {
  for (const char* pattern : {"wte", "eight", "h.?attn.weight", "wte.weight?", "*.bias", "", "W*"}) {
    EXPECT_EQ(error_of(kSmall, {{pattern, Family::adamw}}),
              "override '" + std::string(pattern) + "': must match a parameter; patterns match whole names");
  }
}

TEST(Classify, RefusesWithReason) {
  EXPECT_EQ(error_of({}), "classify: parameters must not be empty");
  EXPECT_EQ(error_of({{"a", {8, 8}}, {"", {8, 8}}}), "classify: parameter 1: name must not be empty");
  EXPECT_EQ(error_of({{"a", {8, 8}}, {"a", {8}}}), "parameter 'a': listed twice");
  EXPECT_EQ(error_of({{"a", {8, 0}}}), "parameter 'a': must not be empty, got shape [8, 0]");
  EXPECT_EQ(error_of(kSmall, {{"*", Family::matrix}}),
            "parameter 'ln_f.weight': override * sends it to the matrix rule, which needs at least two dimensions, "
            "got shape [8]");
  const std::string none_left =
      " parameters is left for the matrix rule; send hidden weights to it with an override, or use adamw alone";
  EXPECT_EQ(error_of({{"wte.weight", {100, 8}}, {"ln_f.weight", {8}}}), "classify: none of the 2" + none_left);
  EXPECT_EQ(error_of(kSmall, {{"*", Family::adamw}}), "classify: none of the 4" + none_left);
}

TEST(Classify, TheReleasesRoutingLooksAtTheNumberOfDimensionsAlone) {
  const std::vector<NamedShape> model = {{"wte.weight", {100, 8}},    {"h.0.attn.weight", {24, 8}},
                                         {"ln_f.weight", {8}},        {"conv.weight", {8, 4, 3, 3}},
                                         {"h.0.experts", {4, 8, 16}}, {"lm_head.bias", {1, 100}}};
  const auto table = classify(model, {}, routing_for("released"));
  for (std::size_t i : {0, 1, 5}) EXPECT_EQ(table[i].family, Family::matrix) << table[i].name;
  for (std::size_t i : {2, 3, 4}) EXPECT_EQ(table[i].family, Family::adamw) << table[i].name;
  EXPECT_EQ(table[0].reason, "two dimensions");
  const FamilyOverride change{"wte.*", Family::adamw};
  EXPECT_EQ(classify(model, {&change, 1}, Routing::released)[0].family, Family::adamw);
  EXPECT_EQ(routing_for("default"), Routing::standard);
  EXPECT_EQ(test::error_of([] { routing_for("paper"); }),
            "classify: preset must be one of default, released, got 'paper'");
}

TEST(Classify, TableIsAlignedWithTotals) {
  EXPECT_EQ(to_string(classify(kSmall)),
            "parameter        shape         elements  family  reason\n"
            "wte.weight       [100, 8]           800  adamw   embedding\n"
            "h.0.attn.weight  [24, 8]            192  matrix  hidden matrix\n"
            "h.1.attn.weight  [24, 8]            192  matrix  hidden matrix\n"
            "ln_f.weight      [8]                  8  adamw   norm\n"
            "total            2 parameters       384  matrix\n"
            "total            2 parameters       808  adamw\n");
  constexpr std::int64_t kHuge = std::int64_t{1} << 61;
  EXPECT_EQ(test::error_of([&] {
              to_string(classify(std::vector<NamedShape>{{"a", {2, kHuge}}, {"b", {2, kHuge}}}));
            }),
            "classify: the number of elements of all parameters must fit 64 bits");
}

}  // namespace
}  // namespace trasmuon
