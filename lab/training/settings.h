// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/study/settings.h"

namespace trasmuon::lab {

/// What the studies of vision and language share. A study's settings contain it, and their list of fields ends with
/// `visit_settings(s.training, visit)`.
struct TrainingSettings {
  int steps = 300;
  int batch = 16;
  int micro_batch = 0;
  double warmup_share = 0.1;
  double decay_share = 0.2;
  double lr_scale = 1;
  double update_rms = 0;
  double other_lr = 1e-3;
  double other_weight_decay = 0;
  int eval_every = 100;
  int diagnostics_every = 1;
  double smoothing = 0.1;
  double target_loss = 0;
  double spike_ratio = 1.1;
  std::string damping = "columns";
  int burst_period = 0;
  int burst_start = 0;
  int burst_columns = 1;
  double burst_size = 100;
  bool burst_relative = true;
  double burst_cap = 0;
  int burst_seed = 0;
  std::string device = "cpu";
  std::string precision = "f32";
  int threads = 1;
  int ranks = 1;
  double peak_tflops = 0;
  int checkpoint_every = 0;
};

template <OptionsOf<TrainingSettings> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("steps", s.steps, at_least(1), "training steps");
  visit("batch", s.batch, at_least(1), "sequences or images of a step");
  visit("micro_batch", s.micro_batch, at_least(0), "how many of them at once, a divisor of batch; 0: all of a rank");
  visit("warmup_share", s.warmup_share, at_least_up_to(0, 1),
        "share of the steps in which the learning rates rise; 0: no warm-up");
  visit("decay_share", s.decay_share, at_least_up_to(0, 1),
        "share of the steps, at the end, in which they fall to zero");
  visit("lr_scale", s.lr_scale, positive(), "factor on the method's lr");
  visit("update_rms", s.update_rms, at_least(0),
        "fit lr to this RMS of an update of the hidden matrices; 0: lr as given");
  visit("other_lr", s.other_lr, at_least(0),
        "learning rate of the AdamW that trains embeddings, head, norms and biases");
  visit("other_weight_decay", s.other_weight_decay, at_least(0), "its weight decay; none on norms and biases");
  visit("eval_every", s.eval_every, at_least(1), "steps between evaluations; there is one at the end");
  visit("diagnostics_every", s.diagnostics_every, at_least(0), "steps between looks into the optimizer; 0: none");
  visit("smoothing", s.smoothing, fraction(), "weight of the past in the smoothed loss");
  visit("target_loss", s.target_loss, any_range(), "smoothed training loss whose first step is reported");
  visit("spike_ratio", s.spike_ratio, at_least(1),
        "a loss above this multiple of the median of the 20 before is a spike");
  visit("damping", s.damping, one_of({"columns", "permuted", "mean"}),
        "what becomes of TrasMuon's damping c: its own columns; others (a placebo); its mean in all of them");
  visit("burst_period", s.burst_period, at_least(0), "steps between gradient bursts; 0: none");
  visit("burst_start", s.burst_start, at_least(0), "no burst before this step");
  visit("burst_columns", s.burst_columns, at_least(1), "columns of each hidden matrix that a burst hits");
  visit("burst_size", s.burst_size, at_least(0), "norm of what is added to a column's gradient");
  visit("burst_relative", s.burst_relative, any_range(), "burst_size is in units of the gradient's RMS");
  visit("burst_cap", s.burst_cap, at_least(0), "largest norm that is added; 0: no limit");
  visit("burst_seed", s.burst_seed, at_least(0), "sequence of the columns and directions, the same for every method");
  visit("device", s.device, one_of({"cpu", "cuda"}), "where the model is; cuda: one run at a time");
  visit("precision", s.precision, one_of({"f32", "tf32", "bf16"}),
        "of the model's products; bf16: mixed precision, f32 weights and gradients; tf32: CUDA only");
  visit("threads", s.threads, at_least(1), "cores of a run on the CPU, of each rank");
  visit("ranks", s.ranks, at_least(1),
        "processes that share the micro-batches of a step, on this machine; cuda: each on a GPU of its own");
  visit("peak_tflops", s.peak_tflops, at_least(0), "of a device, to report its utilization (MFU); 0: unknown");
  visit("checkpoint_every", s.checkpoint_every, at_least(0), "steps between checkpoints; 0: none");
}

/// Throws Error("STUDY: key must be ...") if the settings contradict each other or the method.
void check_training(const TrainingSettings& settings, const Options& options, const std::string& study);

/// Returns how many sequences or images a micro-batch has.
inline int micro_batch_size(const TrainingSettings& s) {
  return s.micro_batch == 0 ? s.batch / s.ranks : s.micro_batch;
}
/// Returns how many micro-batches a step has, over all ranks.
inline int micro_batches(const TrainingSettings& s) { return s.batch / micro_batch_size(s); }

/// Returns how many cores one run uses. A run on GPUs uses all, so that only one is there at a time.
int training_cores(const TrainingSettings& settings);

}  // namespace trasmuon::lab
