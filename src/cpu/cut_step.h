// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/step.h"
#include "stages/cut_step.h"

// The phases of a step on a matrix whose rows are on several ranks. What they compute is what the stages of step.h
// compute, but no state is written before the last phase.
namespace trasmuon::cpu {

/// What run_phase() needs: for CutPhase::orthogonalize, or for any of the others.
WorkspaceBytes workspace_bytes(CutPhase phase, const CutMatrix& x);
void run_phase(CutPhase phase, const CutMatrix& x, const CutBuffers& buffers, Workspace& workspace);

}  // namespace trasmuon::cpu
