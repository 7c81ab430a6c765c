// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/data/tokens/token_stream.h"

namespace trasmuon::lab {

/// The package whose text is the default: Perl's manual, technical English prose.
constexpr const char* kDefaultTextPackage = "perl-doc";
constexpr const char* kDefaultTextPlace = "/usr/share/perl";

/// The folder PLACE/VERSION/pod of its files, or empty if it is not installed.
std::filesystem::path default_text_folder(const std::filesystem::path& place = kDefaultTextPlace);

/// The prose of its pages, one document each, sorted by name. Pages that are lists or not in English are left out.
/// Throws Error with the name of the package if it is not installed.
std::vector<std::string> default_text(const std::filesystem::path& place = kDefaultTextPlace);

/// The default text in the tokens of the tokenizer "bytes", each document behind the token 256. `split`: "train", or
/// "val" for one document in twenty, chosen at random.
TokenStream default_token_stream(const std::string& split, const std::filesystem::path& place = kDefaultTextPlace);

}  // namespace trasmuon::lab
