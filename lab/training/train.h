// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/records/run_log.h"
#include "lab/records/run_spec.h"
#include "lab/training/training.h"

namespace trasmuon::lab {

/// Does a whole training run and returns its summary: trains, evaluates, measures, writes the tables "metrics" and
/// "eval" (and "bursts", "ratio_max", "ratio_q95", "damped_share"), leaves checkpoints and continues from the one in
/// the log's folder. Options and seed are those of the spec. A loss that is not finite ends the run. With several ranks
/// this process becomes rank 0 and must not have threads yet.
Json train(const TaskFactory& make_task, const TrainingSettings& settings, const RunSpec& spec, RunLog& log);

}  // namespace trasmuon::lab
