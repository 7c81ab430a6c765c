// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/models/configurations.h"

namespace trasmuon::lab {

/// A tiny model of another implementation with its inputs and outputs; make_fixtures.py writes them.
struct ModelFixture {
  explicit ModelFixture(const std::string& name);

  at::Tensor input(const std::string& name) const;  ///< int64, or double for "images"

  /// Copies the weights into the model, which is made double. Fails the test unless the names are the same.
  void load_into(torch::nn::Module& model) const;

  nlohmann::json json;
  std::map<std::string, double> gradient_norms;
};

LanguageModelConfig language_config_of(const ModelFixture& fixture, Architecture architecture);
VisionTransformerConfig vision_config_of(const ModelFixture& fixture);

}  // namespace trasmuon::lab
