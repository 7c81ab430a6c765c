// SPDX-License-Identifier: Apache-2.0
#include "lab/language/text.h"

#include <trasmuon/error.h>

#include "lab/data/token_stream.h"

namespace trasmuon::lab {

TextFiles find_text(const LanguageSettings& settings) {
  if (settings.data.empty())
    throw Error("language: data must name token files, got ''; `trasmuon prepare` makes them from text");
  return {token_files(settings.data, "train"),
          token_files(settings.val_data.empty() ? settings.data : settings.val_data, "val")};
}

}  // namespace trasmuon::lab
