// SPDX-License-Identifier: Apache-2.0
#include "lab/language/text.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include "lab/data/text/default_text.h"

namespace trasmuon::lab {
namespace {

const std::string& place_of(const LanguageSettings& settings, const std::string& split) {
  return split == "val" && !settings.val_data.empty() ? settings.val_data : settings.data;
}

}  // namespace

void find_text(const LanguageSettings& settings) {
  if (settings.data.empty() && default_text_folder().empty())
    throw Error(fmt::format(
        "language: data must name token files (`trasmuon prepare` makes them from text), got '', and the default text "
        "is not installed: the package {}",
        kDefaultTextPackage));
  if (settings.data.empty()) return;
  for (const char* split : {"train", "val"}) token_files(place_of(settings, split), split);
}

TokenStream open_text(const LanguageSettings& settings, const std::string& split) {
  const std::string& place = place_of(settings, split);
  if (place.empty()) return default_token_stream(split);
  return {token_files(place, split), model_config(settings).vocabulary};
}

}  // namespace trasmuon::lab
