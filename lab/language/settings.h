// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/models/configurations.h"
#include "lab/study/settings.h"
#include "lab/training/settings.h"

namespace trasmuon::lab {

struct LanguageSettings {
  std::string model = "gpt2-tiny";
  std::string data = "";
  std::string val_data = "";
  int vocabulary = 0;
  int layers = 0;
  int sequence = 256;
  int eval_sequences = 64;
  bool recompute = false;
  TrainingSettings training{.target_loss = 7};
};

template <OptionsOf<LanguageSettings> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("model", s.model, one_of(language_model_names()), "architecture and size");
  visit("data", s.data, one_of({}),
        "token files: a folder of `trasmuon prepare`, a file or a pattern; empty: Perl's manual, as bytes");
  visit("val_data", s.val_data, one_of({}), "token files for validation; empty: those of the folder `data`");
  visit("vocabulary", s.vocabulary, at_least(0), "of the tokenizer, 257 for bytes; 0: the model's own");
  visit("layers", s.layers, at_least(0), "blocks of the model; 0: the model's own");
  visit("sequence", s.sequence, at_least(1), "tokens of a sequence");
  visit("eval_sequences", s.eval_sequences, at_least(1), "sequences of an evaluation");
  visit("recompute", s.recompute, any_range(),
        "compute activations again in the backward pass instead of keeping them");
  visit_settings(s.training, visit);
}

/// The shape of the run's model, with the vocabulary and layers of the settings.
LanguageModelConfig model_config(const LanguageSettings& settings);

/// Throws Error("language: key must be ...") if no run can have these settings.
void check_language(const LanguageSettings& settings);

/// Returns about how many bytes of the machine's memory a run needs.
double language_memory(const LanguageSettings& settings);

}  // namespace trasmuon::lab
