// SPDX-License-Identifier: Apache-2.0
#include "lab/language/run.h"

#include <memory>

#include "lab/language/task.h"
#include "lab/training/train.h"

namespace trasmuon::lab {

std::string_view language_missing() { return {}; }

Json run_language(const RunSpec& spec, RunLog& log) {
  const auto settings = settings_from<LanguageSettings>(spec.settings, spec.study);
  return train([&] { return std::make_unique<LanguageTask>(settings, spec.seed); }, settings.training, spec, log);
}

}  // namespace trasmuon::lab
