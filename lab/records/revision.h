// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon::lab {

/// The code this program was built from: `git describe --always --dirty`, or the version where there was no git.
const char* code_revision();

}  // namespace trasmuon::lab
