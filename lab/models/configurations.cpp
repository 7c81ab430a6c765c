// SPDX-License-Identifier: Apache-2.0
#include "lab/models/configurations.h"

#include <trasmuon/error.h>

#include <array>
#include <utility>

namespace trasmuon::lab {
namespace {

template <class Config>
using Named = std::pair<std::string_view, Config>;

// Tiny models train on a CPU in minutes; their vocabulary is that of bytes.
constexpr std::array<Named<LanguageModelConfig>, 4> kLanguageModels{{
    {"gpt2-small",
     {.architecture = Architecture::gpt2,
      .vocabulary = 50257,
      .context = 1024,
      .layers = 12,
      .width = 768,
      .heads = 12,
      .key_value_heads = 12,
      .mlp_width = 3072}},
    {"gpt2-tiny",
     {.architecture = Architecture::gpt2,
      .vocabulary = 256,
      .context = 1024,
      .layers = 4,
      .width = 128,
      .heads = 4,
      .key_value_heads = 4,
      .mlp_width = 512}},
    {"qwen3-0.6b",
     {.architecture = Architecture::qwen3,
      .vocabulary = 151936,
      .context = 40960,
      .layers = 28,
      .width = 1024,
      .heads = 16,
      .key_value_heads = 8,
      .head_width = 128,
      .mlp_width = 3072}},
    {"qwen3-tiny",
     {.architecture = Architecture::qwen3,
      .vocabulary = 256,
      .context = 40960,
      .layers = 4,
      .width = 128,
      .heads = 4,
      .key_value_heads = 2,
      .head_width = 64,
      .mlp_width = 384}},
}};

// vit-tiny reads Fashion-MNIST, vit-cifar reads CIFAR.
constexpr std::array<Named<VisionTransformerConfig>, 4> kVisionTransformers{{
    {"vit-b16",
     {.image_size = 224, .patch = 16, .layers = 12, .width = 768, .heads = 12, .mlp_width = 3072, .classes = 1000}},
    {"vit-s16",
     {.image_size = 224, .patch = 16, .layers = 12, .width = 384, .heads = 6, .mlp_width = 1536, .classes = 1000}},
    {"vit-cifar",
     {.image_size = 32, .patch = 4, .layers = 8, .width = 256, .heads = 4, .mlp_width = 1024, .classes = 100}},
    {"vit-tiny",
     {.image_size = 28,
      .channels = 1,
      .patch = 7,
      .layers = 4,
      .width = 64,
      .heads = 4,
      .mlp_width = 256,
      .classes = 10}},
}};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& [name, config] : table) names.emplace_back(name);
  return names;
}

template <class Table>
auto find(const Table& table, std::string_view name) {
  std::string known;
  for (const auto& [known_name, config] : table) {
    if (known_name == name) return config;
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  throw Error("model must be one of " + known + ", got '" + std::string(name) + "'");
}

void at_least_one(const char* field, int value) {
  if (value < 1) throw Error(std::string("model: ") + field + " must be >= 1, got " + std::to_string(value));
}

void multiple_of(const char* field, int value, const char* of, int divisor) {
  if (value % divisor != 0)
    throw Error(std::string("model: ") + field + " must be a multiple of " + of + " (" + std::to_string(divisor) +
                "), got " + std::to_string(value));
}

std::int64_t linear(std::int64_t in, std::int64_t out) { return in * out + out; }

/// Of a block with LayerNorm and biases, in GPT-2 and in vision transformers.
std::int64_t block_parameters(std::int64_t width, std::int64_t mlp_width) {
  const std::int64_t norms = 2 * 2 * width;
  return norms + 4 * linear(width, width) + linear(width, mlp_width) + linear(mlp_width, width);
}

std::int64_t qwen3_block_parameters(const LanguageModelConfig& config) {
  const std::int64_t width = config.width, head = head_width(config);
  const std::int64_t queries = config.heads * head, keys = config.key_value_heads * head;
  const std::int64_t norms = 2 * width + 2 * head;
  return norms + 2 * width * queries + 2 * width * keys + 3 * width * config.mlp_width;
}

}  // namespace

std::vector<std::string> language_model_names() { return names_of(kLanguageModels); }
std::vector<std::string> vision_transformer_names() { return names_of(kVisionTransformers); }
LanguageModelConfig language_model_config(std::string_view name) { return find(kLanguageModels, name); }
VisionTransformerConfig vision_transformer_config(std::string_view name) { return find(kVisionTransformers, name); }

int head_width(const LanguageModelConfig& config) {
  return config.head_width > 0 ? config.head_width : config.width / config.heads;
}

int patches(const VisionTransformerConfig& config) {
  const int side = config.image_size / config.patch;
  return side * side;
}

void validate(const LanguageModelConfig& config) {
  at_least_one("vocabulary", config.vocabulary);
  at_least_one("context", config.context);
  at_least_one("layers", config.layers);
  at_least_one("width", config.width);
  at_least_one("heads", config.heads);
  at_least_one("key_value_heads", config.key_value_heads);
  at_least_one("mlp_width", config.mlp_width);
  multiple_of("heads", config.heads, "key_value_heads", config.key_value_heads);
  if (config.head_width == 0) multiple_of("width", config.width, "heads", config.heads);
  if (config.architecture == Architecture::qwen3) {
    if (head_width(config) % 2 != 0)
      throw Error("model: head_width must be even for rotary positions, got " + std::to_string(head_width(config)));
    return;
  }
  if (config.key_value_heads != config.heads)
    throw Error("model: key_value_heads of GPT-2 must equal heads (" + std::to_string(config.heads) + "), got " +
                std::to_string(config.key_value_heads));
  if (head_width(config) * config.heads != config.width)
    throw Error("model: head_width of GPT-2 must be width / heads (" + std::to_string(config.width / config.heads) +
                "), got " + std::to_string(config.head_width));
}

void validate(const VisionTransformerConfig& config) {
  at_least_one("image_size", config.image_size);
  at_least_one("channels", config.channels);
  at_least_one("patch", config.patch);
  at_least_one("layers", config.layers);
  at_least_one("width", config.width);
  at_least_one("heads", config.heads);
  at_least_one("mlp_width", config.mlp_width);
  at_least_one("classes", config.classes);
  multiple_of("image_size", config.image_size, "patch", config.patch);
  multiple_of("width", config.width, "heads", config.heads);
}

std::int64_t parameter_count(const LanguageModelConfig& config) {
  const std::int64_t width = config.width, embedding = config.vocabulary * width, layers = config.layers;
  if (config.architecture == Architecture::qwen3) return embedding + layers * qwen3_block_parameters(config) + width;
  return embedding + config.context * width + layers * block_parameters(width, config.mlp_width) + 2 * width;
}

std::int64_t parameter_count(const VisionTransformerConfig& config) {
  const std::int64_t width = config.width, pixels = std::int64_t{config.channels} * config.patch * config.patch;
  const std::int64_t class_token = width, positions = (patches(config) + 1) * width, final_norm = 2 * width;
  return linear(pixels, width) + class_token + positions + config.layers * block_parameters(width, config.mlp_width) +
         final_norm + linear(width, config.classes);
}

double flops_per_token(const LanguageModelConfig& config, std::int64_t time) {
  std::int64_t used = parameter_count(config);
  if (config.architecture == Architecture::gpt2) used -= std::int64_t{config.context} * config.width;
  return 6.0 * static_cast<double>(used) +
         12.0 * config.layers * config.heads * head_width(config) * static_cast<double>(time);
}

double flops_per_image(const VisionTransformerConfig& config) {
  const double width = config.width, count = patches(config), tokens = count + 1;
  const double blocks =
      static_cast<double>(config.layers) * static_cast<double>(block_parameters(config.width, config.mlp_width));
  const double embedding = static_cast<double>(
      linear(std::int64_t{config.channels} * config.patch * config.patch, std::int64_t{config.width}));
  return 6 * (tokens * blocks + count * embedding + static_cast<double>(linear(config.width, config.classes))) +
         12 * config.layers * width * tokens * tokens;
}

}  // namespace trasmuon::lab
