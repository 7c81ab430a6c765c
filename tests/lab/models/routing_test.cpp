// SPDX-License-Identifier: Apache-2.0
// Which parameters of the models take the matrix rule.
#include <gtest/gtest.h>
#include <trasmuon/libtorch.h>

#include <set>
#include <string>

#include "lab/models/language_model.h"
#include "lab/models/vision_transformer.h"

namespace trasmuon::lab {
namespace {

/// The matrices of the first block, and how many there are in all.
std::pair<std::set<std::string>, std::size_t> matrices_of(const torch::nn::Module& model) {
  auto groups = libtorch::groups_for(model, TrasMuonOptions{});
  std::set<std::string> first;
  for (const Parameter& parameter : libtorch::options_of(groups[0]).parameters) {
    if (parameter.name.starts_with("block0.")) first.insert(parameter.name.substr(7));
  }
  return {first, groups[0].params().size()};
}

TEST(Routing, HiddenMatricesAndNothingElse) {
  const std::set<std::string> block{"query.weight", "key.weight", "value.weight", "attention_output.weight",
                                    "up.weight",    "down.weight"};
  const auto gpt2 = make_language_model(language_model_config("gpt2-tiny"), 0);
  EXPECT_EQ(matrices_of(*gpt2), std::pair(block, std::size_t{4 * 6}));
  const VisionTransformer vit(vision_transformer_config("vit-tiny"), 0);
  EXPECT_EQ(matrices_of(vit), std::pair(block, std::size_t{4 * 6}));

  std::set<std::string> gated = block;
  gated.insert("gate.weight");
  const auto qwen3 = make_language_model(language_model_config("qwen3-tiny"), 0);
  EXPECT_EQ(matrices_of(*qwen3), std::pair(gated, std::size_t{4 * 7}));
}

}  // namespace
}  // namespace trasmuon::lab
