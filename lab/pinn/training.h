// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/options.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/pinn/settings.h"

namespace trasmuon {
class Optimizer;
}

namespace trasmuon::lab {

/// What one training step saw and did. Losses are those before the update.
struct PinnStep {
  double loss = 0, loss_pde = 0, loss_boundary = 0;  ///< loss_boundary without its weight
  int patch = -1;                                    ///< index into kPatches at an event
  double step_size = 0;                              ///< ||change of all parameters|| / sqrt(their number)
  double r_max = 0, c_min = 1, c_mean = 1;           ///< over the hidden matrices
};

struct LocalError {
  double roi_rel_l2, roi_rms, outside_rel_l2;
};

/// A network in training on the Helmholtz problem, on the calling thread alone.
class PinnTraining {
 public:
  PinnTraining(const PinnSettings& settings, const Options& options, std::uint64_t seed);
  ~PinnTraining();

  PinnStep step();               ///< step 0, 1, ...
  int patch_at(int step) const;  ///< of an event at this step, as an index into kPatches
  double relative_l2() const;
  LocalError local_error(int patch) const;
  const trasmuon::Optimizer& optimizer() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trasmuon::lab
