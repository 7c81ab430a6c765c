// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trasmuon/export.h"
#include "trasmuon/optimizer.h"

namespace trasmuon {

// A checkpoint is an ordinary safetensors file: one tensor "<parameter>/<state>" per state
// tensor; options, layout and checksums are in its metadata. Weights are not part of it: the
// caller saves and restores them. This is also true with master weights: loading restores the
// f32 masters, and the 16-bit weights follow them from the next step on.

/// Writes the optimizer's whole state and options. The new file is written beside `path`,
/// synced and renamed, so `path` is always the complete old or the complete new file. After an
/// Error or std::bad_alloc no temporary file is left; a killed process can leave "<path>.tmp-*".
///
/// If `path` is a symbolic link, the file it points to is replaced (or created) and the link stays.
/// A file that is replaced hands on its mode, owner and group, as far as the system permits; if the
/// group cannot be kept, the new file gives its group no rights. Access control lists and extended
/// attributes are not kept, and further hard links keep the old contents.
TRASMUON_API void save_checkpoint(const Optimizer& optimizer, const std::string& path);

/// Restores state and options into an optimizer that was built with the same parameters and
/// rules. Checks the whole file first: after an Error, which names the tensor and the reason, or
/// std::bad_alloc the optimizer is unchanged. While it runs it needs memory for a second copy of the
/// state and, for any file, at most ten times the size of the header, which has at most 100 MB; its
/// time grows with the size of the file.
TRASMUON_API void load_checkpoint(Optimizer& optimizer, const std::string& path);

}  // namespace trasmuon
