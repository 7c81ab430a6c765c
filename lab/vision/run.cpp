// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/run.h"

#include <memory>

#include "lab/training/train.h"
#include "lab/vision/images.h"
#include "lab/vision/settings.h"
#include "lab/vision/task.h"

namespace trasmuon::lab {

std::string_view vision_missing() { return {}; }

Json run_vision(const RunSpec& spec, RunLog& log) {
  const auto settings = settings_from<VisionSettings>(spec.settings, spec.study);
  const std::shared_ptr<Images> images = open_images(settings);
  const auto make_task = [&] { return std::make_unique<VisionTask>(settings, images, spec.seed); };
  Json summary = train(make_task, settings.training, spec, log);
  const double seen = static_cast<double>(settings.training.batch) * summary.at("steps_done").get<double>();
  summary["epochs"] = seen / static_cast<double>(images->training_count());
  return summary;
}

}  // namespace trasmuon::lab
