// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace trasmuon::lab {

/// The documents of a text: lines "<|endoftext|>" stand between them. Neither these lines nor the line break before one
/// belong to a document. Empty documents are left out. The views point into the text.
std::vector<std::string_view> documents_of(std::string_view text);

/// A place at or behind `from` where a text can be cut so that its two parts have the tokens of the whole, with every
/// tokenizer; text.size() if there is none.
std::size_t cut_behind(std::string_view text, std::size_t from);

}  // namespace trasmuon::lab
