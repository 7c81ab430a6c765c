// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trasmuon/export.h"
#include "trasmuon/optimizer.h"

namespace trasmuon {

// A checkpoint is a safetensors file that any reader of the format opens: one tensor
// "<parameter>/<state>" per state tensor; options, layout and checksums in its metadata.
// Weights are not part of it: the caller saves and restores them. That holds with master
// weights too: loading restores the f32 masters, and the low-precision weights follow
// them from the next step on.

/// Writes the optimizer's whole state and options. The file is written beside `path`,
/// synced and renamed: at any moment `path` is the old or the new file, whole. After an
/// Error nothing is left behind; a killed process can leave "<path>.tmp-*".
TRASMUON_API void save_checkpoint(const Optimizer& optimizer, const std::string& path);

/// Restores state and options into an optimizer built with the same parameters and
/// rules. Everything in the file is checked first; on an Error (which says which
/// tensor and why) the optimizer is unchanged. Needs memory for the state once more
/// while it runs.
TRASMUON_API void load_checkpoint(Optimizer& optimizer, const std::string& path);

}  // namespace trasmuon
