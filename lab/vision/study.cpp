// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/study.h"

#include "lab/vision/data_check.h"
#include "lab/vision/report/report.h"
#include "lab/vision/run.h"
#include "lab/vision/settings.h"

namespace trasmuon::lab {
namespace {

class VisionStudy final : public Study {
 public:
  std::string_view name() const override { return "vision"; }
  std::string_view description() const override {
    return "a vision transformer learns to classify images; at bursts, columns of its gradients jump (needs LibTorch)";
  }
  std::vector<Field> settings() const override { return describe_settings<VisionSettings>(); }
  Json complete(const Json& given) const override { return settings_to_json(read(given)); }
  void check(const RunSpec& spec) const override { check_vision(read(spec.settings), spec.options); }
  void check_machine(const Json& settings) const override { check_images(read(settings)); }
  double memory(const Json& settings) const override { return vision_memory(read(settings)); }
  int cores(const Json& settings) const override { return training_cores(read(settings).training); }
  std::string_view missing() const override { return vision_missing(); }
  Json run(const RunSpec& spec, RunLog& log) const override { return run_vision(spec, log); }
  std::vector<std::string> main_numbers() const override {
    return {"final_val_error", "final_loss", "optimizer_share"};
  }
  void report(const RunSet& runs, Document& document, Gnuplot& gnuplot) const override {
    report_vision(runs, document, gnuplot);
  }

 private:
  VisionSettings read(const Json& given) const { return settings_from<VisionSettings>(given, name()); }
};

}  // namespace

const Study& vision_study() {
  static const VisionStudy study;
  return study;
}

}  // namespace trasmuon::lab
