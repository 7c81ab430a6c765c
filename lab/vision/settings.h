// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lab/models/configurations.h"
#include "lab/study/settings.h"
#include "lab/training/settings.h"

namespace trasmuon::lab {

struct VisionSettings {
  std::string data = "fashion-mnist";
  std::string folder = "";
  std::string class_list = "";
  std::string model = "vit-tiny";
  int patch = 0;
  int layers = 0;
  int width = 0;
  int heads = 0;
  bool recompute = false;
  std::string augmentation = "none";
  double mixup = 0;
  double label_smoothing = 0;
  int eval_images = 0;
  TrainingSettings training = {};
};

template <OptionsOf<VisionSettings> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("data", s.data, one_of({"fashion-mnist", "mnist", "cifar10", "cifar100", "imagenet100", "folder"}),
        "images; folder: any files FOLDER/{train,val}/CLASS/*.jpeg; imagenet100: such files, counted and checked");
  visit("folder", s.folder, one_of({}), "where its files are; empty: Debian's Fashion-MNIST");
  visit("class_list", s.class_list, one_of({}), "file with a class per line, for folder and imagenet100");
  visit("model", s.model, one_of(vision_transformer_names()),
        "a vision transformer; its input and classes are the data's");
  visit("patch", s.patch, at_least(0), "pixels of a patch's side; 0: the model's");
  visit("layers", s.layers, at_least(0), "blocks; 0: the model's");
  visit("width", s.width, at_least(0), "of the tokens, a multiple of heads, a quarter of the MLP's; 0: the model's");
  visit("heads", s.heads, at_least(0), "of attention; 0: the model's");
  visit("recompute", s.recompute, any_range(),
        "compute blocks again in the backward pass: less memory, a third more work");
  visit("augmentation", s.augmentation, one_of({"none", "crop", "deit"}),
        "crop: random shifts by up to an eighth, and flips of colour images; deit: random resized crop, flip, colour "
        "jitter, "
        "RandAugment, random erasing");
  visit("mixup", s.mixup, at_least(0), "alpha of Mixup's Beta distribution; 0: no Mixup");
  visit("label_smoothing", s.label_smoothing, fraction(), "probability that is spread over all classes");
  visit("eval_images", s.eval_images, at_least(0), "test images of an evaluation, the first ones; 0: all");
  visit_settings(s.training, visit);
}

/// What images look like to a model.
struct ImageShape {
  int channels = 0, size = 0, classes = 0;
};

/// Returns whether images are read from a folder with one file each, not from a set in memory.
bool reads_files(const VisionSettings& settings);

/// Returns the shape of the data of these settings. Files are resized to the size of the model; how many classes they
/// have is known when the folder is read, so here it is 0.
ImageShape known_shape(const VisionSettings& settings);

/// Returns the model of these settings for images of this shape. Throws Error if there is none.
VisionTransformerConfig model_for(const VisionSettings& settings, const ImageShape& shape);

/// Throws Error("vision: key must be ...") if the settings contradict each other or the method.
void check_vision(const VisionSettings& settings, const Options& method);

/// Returns about how many bytes of memory one run needs.
double vision_memory(const VisionSettings& settings);

}  // namespace trasmuon::lab
