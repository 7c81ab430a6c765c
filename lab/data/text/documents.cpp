// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/documents.h"

namespace trasmuon::lab {

std::vector<std::string_view> documents_of(std::string_view text) {
  constexpr std::string_view kSeparator = "<|endoftext|>";
  std::vector<std::string_view> documents;
  const auto add = [&](std::string_view document) {
    if (!document.empty()) documents.push_back(document);
  };
  std::size_t begin = 0, search = 0;
  for (;;) {
    const std::size_t at = text.find(kSeparator, search);
    if (at == std::string_view::npos) break;
    search = at + kSeparator.size();
    std::string_view behind = text.substr(search);
    if (behind.starts_with('\r')) behind.remove_prefix(1);
    const bool is_line = (at == 0 || text[at - 1] == '\n') && (behind.empty() || behind.starts_with('\n'));
    if (!is_line) continue;
    std::string_view document = text.substr(begin, at > begin ? at - begin : 0);
    if (document.ends_with('\n')) document.remove_suffix(1);
    if (document.ends_with('\r')) document.remove_suffix(1);
    add(document);
    begin = search = text.size() - behind.size() + (behind.empty() ? 0 : 1);
  }
  add(text.substr(begin));
  return documents;
}

std::size_t cut_behind(std::string_view text, std::size_t from) {
  // Between a single line break and a letter. In all patterns a word ends there, whatever is before and behind, and no
  // letter of ASCII is changed by what is before it when text is normalized.
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t at = text.find('\n', from); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at > 0 && at + 1 < text.size() && text[at - 1] > ' ' && text[at - 1] < 0x7f && is_letter(text[at + 1])) {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace trasmuon::lab
