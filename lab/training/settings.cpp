// SPDX-License-Identifier: Apache-2.0
#include "lab/training/settings.h"

#include <trasmuon/error.h>

#include <limits>
#include <variant>

#include "lab/study/options_check.h"

namespace trasmuon::lab {

void check_training(const TrainingSettings& s, const Options& options, const std::string& study) {
  const auto refuse = [&](const std::string& rule) { throw Error(study + ": " + rule); };
  if (s.micro_batch > s.batch || (s.micro_batch > 0 && s.batch % s.micro_batch != 0))
    refuse("micro_batch must divide batch = " + to_text(s.batch) + ", got " + to_text(s.micro_batch));
  if (s.batch % s.ranks != 0) refuse("ranks must divide batch = " + to_text(s.batch) + ", got " + to_text(s.ranks));
  if (micro_batches(s) % s.ranks != 0)
    refuse("ranks must divide the " + to_text(micro_batches(s)) + " micro-batches of a step, got " + to_text(s.ranks));
  if (s.warmup_share + s.decay_share > 1)
    refuse("warmup_share + decay_share must be <= 1, got " + to_text(s.warmup_share) + " + " + to_text(s.decay_share));
  if (s.precision == "tf32" && s.device != "cuda")
    refuse("precision must be f32 or bf16 with device = cpu, got 'tf32'");
  if (s.update_rms > 0 && s.diagnostics_every == 0) refuse("diagnostics_every must be >= 1 with update_rms, got 0");
  if (s.damping != "columns") {
    const auto* trasmuon = std::get_if<TrasMuonOptions>(&options);
    if (trasmuon == nullptr || trasmuon->clip == Clip::none)
      refuse("damping must be columns for a method without damping, got '" + s.damping + "'");
  }
  check_options<float>(options, s.lr_scale, study);
}

int training_cores(const TrainingSettings& settings) {
  return settings.device == "cuda" ? std::numeric_limits<int>::max() : settings.threads * settings.ranks;
}

}  // namespace trasmuon::lab
