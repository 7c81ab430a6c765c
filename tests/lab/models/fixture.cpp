// SPDX-License-Identifier: Apache-2.0
#include "lab/models/fixture.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <fstream>
#include <set>
#include <vector>

namespace trasmuon::lab {
namespace {

at::Tensor tensor_of(const nlohmann::json& stored, at::ScalarType type) {
  const auto shape = stored.at("shape").get<std::vector<std::int64_t>>();
  return torch::tensor(stored.at("values").get<std::vector<double>>(), at::kDouble).reshape(shape).to(type);
}

}  // namespace

ModelFixture::ModelFixture(const std::string& name) {
  std::ifstream file(std::string(TRASMUON_MODEL_FIXTURES "/") + name + ".json");
  json = nlohmann::json::parse(file);
  gradient_norms = json.at("gradient_norms").get<std::map<std::string, double>>();
}

at::Tensor ModelFixture::input(const std::string& name) const {
  return tensor_of(json.at("inputs").at(name), name == "images" ? at::kDouble : at::kLong);
}

void ModelFixture::load_into(torch::nn::Module& model) const {
  at::NoGradGuard no_grad;
  model.to(at::kDouble);
  std::set<std::string> ours, theirs;
  for (const auto& item : json.at("weights").items()) theirs.insert(item.key());
  for (auto& item : model.named_parameters()) {
    ours.insert(item.key());
    if (theirs.count(item.key()) == 0) continue;
    const at::Tensor stored = tensor_of(json.at("weights").at(item.key()), at::kDouble);
    ASSERT_EQ(stored.sizes(), item.value().sizes()) << item.key();
    item.value().copy_(stored);
  }
  ASSERT_EQ(ours, theirs);
}

LanguageModelConfig language_config_of(const ModelFixture& fixture, Architecture architecture) {
  const nlohmann::json& config = fixture.json.at("config");
  return {.architecture = architecture,
          .vocabulary = config.at("vocabulary"),
          .context = config.at("context"),
          .layers = config.at("layers"),
          .width = config.at("width"),
          .heads = config.at("heads"),
          .key_value_heads = config.at("key_value_heads"),
          .head_width = config.value("head_width", 0),
          .mlp_width = config.at("mlp_width")};
}

VisionTransformerConfig vision_config_of(const ModelFixture& fixture) {
  const nlohmann::json& config = fixture.json.at("config");
  return {.image_size = config.at("image_size"),
          .channels = config.at("channels"),
          .patch = config.at("patch"),
          .layers = config.at("layers"),
          .width = config.at("width"),
          .heads = config.at("heads"),
          .mlp_width = config.at("mlp_width"),
          .classes = config.at("classes")};
}

}  // namespace trasmuon::lab
