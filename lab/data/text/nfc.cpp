// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "lab/data/text/unicode.h"
#include "lab/data/text/unicode_tables.h"

namespace trasmuon::lab {
namespace {

// Hangul syllables: a leading consonant, a vowel and perhaps a trailing consonant (Unicode, section 3.12).
constexpr char32_t kSyllables = 0xac00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11a7;
constexpr char32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr char32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

/// Codes below this one are never changed by NFC and never combine with what is before them.
constexpr char32_t kFirstThatMatters = 0x300;

int combining_order(char32_t code) {
  const auto* end = unicode::kOrders + unicode::kOrdersCount;
  const auto* after = std::upper_bound(unicode::kOrders, end, code,
                                       [](char32_t c, const unicode::Stretch& stretch) { return c < stretch.first; });
  return after[-1].value;
}

void decompose(char32_t code, std::vector<char32_t>& out) {
  if (code >= kSyllables && code < kSyllables + kSyllableCount) {
    const char32_t index = code - kSyllables, trailing = index % kTrailingCount;
    out.push_back(kLeading + index / kTrailingCount / kVowelCount);
    out.push_back(kVowels + index / kTrailingCount % kVowelCount);
    if (trailing != 0) out.push_back(kTrailing + trailing);
    return;
  }
  const auto* end = unicode::kDecompositions + unicode::kDecompositionsCount;
  const auto* found = std::lower_bound(unicode::kDecompositions, end, code,
                                       [](const unicode::Decomposition& entry, char32_t c) { return entry.code < c; });
  if (found == end || found->code != code) return out.push_back(code);
  decompose(found->first, out);
  if (found->second != 0) decompose(found->second, out);
}

/// The character that NFC makes of two, or 0.
char32_t composed(char32_t first, char32_t second) {
  if (first >= kLeading && first < kLeading + kLeadingCount && second >= kVowels && second < kVowels + kVowelCount) {
    return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowels)) * kTrailingCount;
  }
  if (first >= kSyllables && first < kSyllables + kSyllableCount && (first - kSyllables) % kTrailingCount == 0 &&
      second > kTrailing && second < kTrailing + kTrailingCount) {
    return first + (second - kTrailing);
  }
  static const auto kPairs = [] {
    std::map<std::pair<char32_t, char32_t>, char32_t> pairs;
    for (std::size_t i = 0; i < unicode::kDecompositionsCount; ++i) {
      const unicode::Decomposition& entry = unicode::kDecompositions[i];
      if (entry.composes) pairs[{entry.first, entry.second}] = entry.code;
    }
    return pairs;
  }();
  const auto found = kPairs.find({first, second});
  return found == kPairs.end() ? 0 : found->second;
}

/// Puts together what can be, after `codes` were decomposed and ordered.
void compose(std::vector<char32_t>& codes) {
  std::size_t written = 0, starter = 0;
  bool have_starter = false;
  int last_order = -1;  // of what was written since the starter; -1: nothing
  for (const char32_t code : codes) {
    const int order = combining_order(code);
    if (have_starter && last_order < order) {  // nothing of the same or a higher order is in between
      if (const char32_t both = composed(codes[starter], code)) {
        codes[starter] = both;
        continue;
      }
    }
    if (order == 0) {
      starter = written;
      have_starter = true;
      last_order = -1;
    } else {
      last_order = order;
    }
    codes[written++] = code;
  }
  codes.resize(written);
}

void order(std::vector<char32_t>& codes) {
  for (auto first = codes.begin(); first != codes.end();) {
    if (combining_order(*first) == 0) {
      ++first;
      continue;
    }
    const auto last = std::find_if(first, codes.end(), [](char32_t code) { return combining_order(code) == 0; });
    std::stable_sort(first, last, [](char32_t a, char32_t b) { return combining_order(a) < combining_order(b); });
    first = last;
  }
}

}  // namespace

std::string nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::vector<char32_t> codes;
  for (std::size_t position = 0; position < text.size();) {
    // Plain text is copied; a character that matters is taken together with the plain one before it.
    const std::size_t begin = position;
    std::size_t last = position;
    Character character = character_at(text, position);
    while (character.bytes != 0 && character.code < kFirstThatMatters) {
      last = position;
      position += character.bytes;
      character = character_at(text, position);
    }
    if (character.bytes == 0) last = position;
    out += text.substr(begin, last - begin);
    codes.clear();
    for (position = last; position < text.size(); position += character.bytes) {
      character = character_at(text, position);
      if (character.code < kFirstThatMatters && position != last) break;
      decompose(character.code, codes);
    }
    order(codes);
    compose(codes);
    for (const char32_t code : codes) append_utf8(code, out);
  }
  return out;
}

}  // namespace trasmuon::lab
