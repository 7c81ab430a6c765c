// SPDX-License-Identifier: Apache-2.0
#include "lab/language/settings.h"

#include <trasmuon/error.h>

#include <algorithm>

namespace trasmuon::lab {

LanguageModelConfig model_config(const LanguageSettings& settings) {
  LanguageModelConfig config = language_model_config(settings.model);
  if (settings.vocabulary > 0) config.vocabulary = settings.vocabulary;
  if (settings.layers > 0) config.layers = settings.layers;
  return config;
}

void check_language(const LanguageSettings& settings) {
  const LanguageModelConfig config = model_config(settings);
  validate(config);
  if (constexpr int kBytes = 257; settings.data.empty() && config.vocabulary < kBytes)
    throw Error("language: vocabulary must be >= 257 for the default text, got " + to_text(config.vocabulary));
  if (settings.sequence > config.context)
    throw Error("language: sequence must be <= " + to_text(config.context) + ", the context of " + settings.model +
                ", got " + to_text(settings.sequence));
}

double language_memory(const LanguageSettings& settings) {
  constexpr double kFloat = 4, kPerLayer = 40;  // activations of a layer that are kept, in widths
  const LanguageModelConfig config = model_config(settings);
  const double weights = static_cast<double>(parameter_count(config));
  const double ranks = settings.training.ranks;
  if (settings.training.device == "cuda") return ranks * 3 * kFloat * weights;  // the start, a checkpoint's copies
  const double tokens = static_cast<double>(micro_batch_size(settings.training)) * settings.sequence;
  const double kept = settings.recompute ? config.layers + kPerLayer : kPerLayer * config.layers;
  const double scores = static_cast<double>(config.heads) * settings.sequence * config.layers;
  // Of every weight: itself, gradient, two of state, scratch.
  return ranks * kFloat * (5 * weights + tokens * (kept * config.width + scores + std::min(config.vocabulary, 8192)));
}

}  // namespace trasmuon::lab
