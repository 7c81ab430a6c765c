// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/study/settings.h"

namespace trasmuon::lab {

/// The defaults are the paper's, where it has them.
struct PinnSettings {
  int steps = 4000;
  int interior_points = 1024;
  int boundary_points = 256;
  double boundary_weight = 100;
  int width = 128;
  int depth = 3;
  bool events = true;
  int first_event = 1000;
  int event_period = 20;
  double roi_fraction = 0.95;
  int patch_seed = -1;
  int eval_every = 200;
  std::string matrix_layers = "hidden";
  double other_lr = 1e-3;
  double update_rms = 0;
  double lr_scale = 1;
  std::string laplacian = "forward";
};

template <OptionsOf<PinnSettings> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("steps", s.steps, at_least(1), "training steps");
  visit("interior_points", s.interior_points, at_least(1), "points of the residual, drawn anew each step");
  visit("boundary_points", s.boundary_points, at_least(1), "points of the boundary loss, drawn anew each step");
  visit("boundary_weight", s.boundary_weight, at_least(0), "weight of the boundary loss");
  visit("width", s.width, at_least(1), "units of a hidden layer");
  visit("depth", s.depth, at_least(1), "hidden layers");
  visit("events", s.events, any_range(),
        "at events, sample a region of interest; false: sample uniformly in every step");
  visit("first_event", s.first_event, at_least(2), "step of the first event");
  visit("event_period", s.event_period, at_least(3), "steps between events");
  visit("roi_fraction", s.roi_fraction, at_least_up_to(0, 1), "share of the interior points in the region");
  visit("patch_seed", s.patch_seed, at_least(-1), "sequence of the events' regions; -1: the run's seed");
  visit("eval_every", s.eval_every, at_least(1), "steps between evaluations on the grid");
  visit(
      "matrix_layers", s.matrix_layers, one_of({"hidden", "all", "everything"}),
      "what the method trains: hidden-to-hidden matrices; all weights; biases too (adamw only). AdamW trains the rest");
  visit("other_lr", s.other_lr, at_least(0), "learning rate of that AdamW");
  visit("update_rms", s.update_rms, at_least(0), "fit lr to this mean step size before the events; 0: use lr as given");
  visit("lr_scale", s.lr_scale, positive(), "factor on lr");
  visit("laplacian", s.laplacian, one_of({"forward", "double-backward"}),
        "how the Laplacian is computed: same numbers, different cost");
}

}  // namespace trasmuon::lab
