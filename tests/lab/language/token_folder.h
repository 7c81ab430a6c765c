// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temporary_directory.h"

namespace trasmuon::lab {

/// Writes token files of a text that a small model learns quickly: two words in random order, as bytes.
void write_tokens(const test::TemporaryDirectory& folder);

}  // namespace trasmuon::lab
