// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The shapes of the models. Framework-free: recipes are checked and memory is estimated without LibTorch.
namespace trasmuon::lab {

enum class Architecture : std::uint8_t { gpt2, qwen3 };

/// A decoder of tokens with tied embeddings.
struct LanguageModelConfig {
  Architecture architecture = Architecture::gpt2;
  int vocabulary = 0;
  int context = 0;  ///< most tokens of a sequence
  int layers = 0;
  int width = 0;
  int heads = 0;
  int key_value_heads = 0;  ///< Qwen3: divides heads; GPT-2: equals heads
  int head_width = 0;       ///< 0: width / heads
  int mlp_width = 0;
};

/// A pre-norm vision transformer with learned positions and a class token.
struct VisionTransformerConfig {
  int image_size = 0;  ///< pixels of a side; images are square
  int channels = 3;
  int patch = 0;  ///< pixels of a side, divides image_size
  int layers = 0;
  int width = 0;
  int heads = 0;
  int mlp_width = 0;
  int classes = 0;
};

std::vector<std::string> language_model_names();      ///< "gpt2-small", ...
std::vector<std::string> vision_transformer_names();  ///< "vit-b16", ...

/// Returns a configuration by name; its members may be changed. Throws Error with the known names for another name.
LanguageModelConfig language_model_config(std::string_view name);
VisionTransformerConfig vision_transformer_config(std::string_view name);

/// Throws Error if no model has this shape: "model: width must be a multiple of heads (3), got 64".
void validate(const LanguageModelConfig& config);
void validate(const VisionTransformerConfig& config);

int head_width(const LanguageModelConfig& config);
int patches(const VisionTransformerConfig& config);  ///< of an image

/// Counts each parameter once; the embedding is also the head of a language model.
std::int64_t parameter_count(const LanguageModelConfig& config);
std::int64_t parameter_count(const VisionTransformerConfig& config);

/// Floating-point operations of a forward and a backward pass, per token of a sequence of `time` tokens:
/// 6 N + 12 layers heads head_width time. N leaves out the table of positions, which is only looked up. Attention is
/// counted in full although half of it is masked, as in PaLM's definition of the model FLOPs utilization.
double flops_per_token(const LanguageModelConfig& config, std::int64_t time);

/// The same per image of T patches and a class token: 6 (T + 1) N_blocks + 6 T N_patch_embedding + 6 N_head +
/// 12 layers width (T + 1)^2.
double flops_per_image(const VisionTransformerConfig& config);

}  // namespace trasmuon::lab
