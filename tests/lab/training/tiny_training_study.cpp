// SPDX-License-Identifier: Apache-2.0
// In place of the program's studies: trains the tiny task.
#include "lab/study/registry.h"
#include "lab/training/train.h"
#include "tiny_task.h"

namespace trasmuon::lab {
namespace {

class TinyTrainingStudy final : public Study {
 public:
  std::string_view name() const override { return "tiny-training"; }
  std::string_view description() const override { return "a study for tests"; }
  std::vector<Field> settings() const override { return describe_settings<TrainingSettings>(); }
  Json complete(const Json& given) const override {
    return settings_to_json(settings_from<TrainingSettings>(given, name()));
  }
  void check(const RunSpec& spec) const override {
    check_training(settings_from<TrainingSettings>(spec.settings, name()), spec.options, std::string(name()));
  }
  double memory(const Json&) const override { return 1e6; }
  Json run(const RunSpec& spec, RunLog& log) const override {
    const auto settings = settings_from<TrainingSettings>(spec.settings, name());
    return train([&] { return tiny_task(spec.seed, micro_batch_size(settings)); }, settings, spec, log);
  }
};

}  // namespace

const std::vector<const Study*>& known_studies() {
  static const TinyTrainingStudy study;
  static const std::vector<const Study*> all = {&study};
  return all;
}

}  // namespace trasmuon::lab
