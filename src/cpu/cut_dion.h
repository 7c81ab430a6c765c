// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/step.h"
#include "stages/cut_step.h"

// Dion's step on a matrix whose rows are on several ranks: they send their rows of B = M + G to the owner, which sends
// back their rows of P and the whole R. So they compute what a whole step computes.
namespace trasmuon::cpu {

template <class T>
WorkspaceBytes cut_dion_workspace(CutPhase phase, const CutMatrix& x);
template <class T>
void run_cut_dion(CutPhase phase, const CutMatrix& x, const CutBuffers& buffers, Workspace& workspace);

}  // namespace trasmuon::cpu
