// SPDX-License-Identifier: Apache-2.0
#include "lab/language/study.h"

#include <string>

#include "lab/language/report/report.h"
#include "lab/language/run.h"
#include "lab/language/settings.h"
#include "lab/language/text.h"

namespace trasmuon::lab {
namespace {

class LanguageStudy final : public Study {
 public:
  std::string_view name() const override { return "language"; }
  std::string_view description() const override { return "GPT-2 or Qwen3 learns text from scratch (needs LibTorch)"; }
  std::vector<Field> settings() const override { return describe_settings<LanguageSettings>(); }
  Json complete(const Json& given) const override {
    return settings_to_json(settings_from<LanguageSettings>(given, name()));
  }
  void check(const RunSpec& spec) const override {
    const auto settings = settings_from<LanguageSettings>(spec.settings, name());
    check_training(settings.training, spec.options, std::string(name()));
    check_language(settings);
  }
  void check_machine(const Json& settings) const override {
    find_text(settings_from<LanguageSettings>(settings, name()));
  }
  double memory(const Json& settings) const override {
    return language_memory(settings_from<LanguageSettings>(settings, name()));
  }
  int cores(const Json& settings) const override {
    return training_cores(settings_from<LanguageSettings>(settings, name()).training);
  }
  std::string_view missing() const override { return language_missing(); }
  Json run(const RunSpec& spec, RunLog& log) const override { return run_language(spec, log); }
  std::vector<std::string> main_numbers() const override { return {"steps_to_target", "final_loss", "final_val_loss"}; }
  void report(const RunSet& runs, Document& document, Gnuplot& gnuplot) const override {
    report_language(runs, document, gnuplot);
  }
};

}  // namespace

const Study& language_study() {
  static const LanguageStudy study;
  return study;
}

}  // namespace trasmuon::lab
