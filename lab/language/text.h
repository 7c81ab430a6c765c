// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/data/tokens/token_stream.h"
#include "lab/language/settings.h"

namespace trasmuon::lab {

/// Looks for the text that the settings name; throws Error with file or package if it is not on this machine.
void find_text(const LanguageSettings& settings);

/// Opens it and checks every token. `split` is "train" or "val". Without `data` it is the default text, in bytes.
TokenStream open_text(const LanguageSettings& settings, const std::string& split);

}  // namespace trasmuon::lab
