// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/settings.h"

#include <trasmuon/error.h>

namespace trasmuon::lab {

bool reads_files(const VisionSettings& settings) { return settings.data == "folder" || settings.data == "imagenet100"; }

ImageShape known_shape(const VisionSettings& settings) {
  if (reads_files(settings)) return {3, vision_transformer_config(settings.model).image_size, 0};
  if (settings.data == "cifar10") return {3, 32, 10};
  if (settings.data == "cifar100") return {3, 32, 100};
  return {1, 28, 10};  // fashion-mnist, mnist
}

VisionTransformerConfig model_for(const VisionSettings& settings, const ImageShape& shape) {
  VisionTransformerConfig config = vision_transformer_config(settings.model);
  config.channels = shape.channels;
  config.image_size = shape.size;
  config.classes = shape.classes;
  if (settings.patch > 0) config.patch = settings.patch;
  if (settings.layers > 0) config.layers = settings.layers;
  if (settings.heads > 0) config.heads = settings.heads;
  if (settings.width > 0) {
    config.width = settings.width;
    config.mlp_width = 4 * settings.width;
  }
  validate(config);
  return config;
}

void check_vision(const VisionSettings& settings, const Options& method) {
  const auto refuse = [](const std::string& rule) { throw Error("vision: " + rule); };
  if (settings.folder.empty() && settings.data != "fashion-mnist")
    refuse("folder must name where the files of data = " + settings.data + " are, got ''");
  if (settings.class_list.empty() && reads_files(settings))
    refuse("class_list must name a file with the classes of data = " + settings.data + ", got ''");
  if (settings.augmentation == "deit" && !reads_files(settings))
    refuse("augmentation must be none or crop for data = " + settings.data + ", got 'deit'");
  if (settings.augmentation == "crop" && reads_files(settings))
    refuse("augmentation must be none or deit for data = " + settings.data + ", got 'crop'");
  ImageShape shape = known_shape(settings);
  if (shape.classes == 0) shape.classes = 1;  // known when the folder is read
  try {
    model_for(settings, shape);
  } catch (const Error& error) {
    refuse(error.what());
  }
  check_training(settings.training, method, "vision");
}

double vision_memory(const VisionSettings& settings) {
  constexpr double kFloat = 4, kSet = 6e7, kCifar = 2e8, kFolder = 2e9;
  const double data = reads_files(settings) ? kFolder : settings.data.starts_with("cifar") ? kCifar : kSet;
  const double ranks = settings.training.ranks;
  if (settings.training.device == "cuda") return ranks * data;  // the rest is in the GPUs' memory
  ImageShape shape = known_shape(settings);
  if (shape.classes == 0) shape.classes = 1000;
  const VisionTransformerConfig model = model_for(settings, shape);
  const double tokens = patches(model) + 1, images = micro_batch_size(settings.training);
  // Kept for the backward pass, of every token of a block: about 10 vectors of the width and 3 of the MLP, and the
  // attention's scores, twice. Of every weight: itself, gradient, two of state, one to look into.
  const double block = tokens * (10.0 * model.width + 3.0 * model.mlp_width) + 2.0 * model.heads * tokens * tokens;
  const double kept = settings.recompute ? block + model.layers * tokens * model.width : model.layers * block;
  return ranks * (data + kFloat * (images * kept + 5 * static_cast<double>(parameter_count(model))));
}

}  // namespace trasmuon::lab
