// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/records/run_set.h"

namespace trasmuon::lab {

/// The runs with the numbers that follow from the rule in events.h, added to each summary from the run's stored peaks
/// and losses:
///   spikes           events that are spikes; without events, of the same steps
///   recovery_steps   mean over the spikes that recovered; only with events
///   recovered_share  of the spikes; only with events
///   loss_after       median loss of the uniform steps from the first event on
///   fit_miss         step_size / update_rms - 1 where lr was fitted
/// A number without a basis (no spike to recover from) is absent. Runs without tables keep their summary.
RunSet with_event_numbers(RunSet runs);

}  // namespace trasmuon::lab
