// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trasmuon/export.h"
#include "trasmuon/optimizer.h"

namespace trasmuon {

/// Writes the optimizer's whole state and options to a safetensors file. The file is
/// written beside `path`, synced and renamed: at any moment `path` is the old or the
/// new file, whole.
TRASMUON_API void save_checkpoint(const Optimizer& optimizer, const std::string& path);

/// Restores state and options into an optimizer built with the same parameters and
/// rules. Everything in the file is checked first; on an Error (which says which
/// tensor and why) the optimizer is unchanged.
TRASMUON_API void load_checkpoint(Optimizer& optimizer, const std::string& path);

}  // namespace trasmuon
