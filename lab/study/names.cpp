// SPDX-License-Identifier: Apache-2.0
#include "lab/study/names.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace trasmuon::lab {
namespace {

/// Levenshtein distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  std::size_t fewest = 1 + std::max<std::size_t>(1, name.size() / 3);  // with more edits it is a different word
  const std::string* nearest = nullptr;
  for (const std::string& candidate : known) {
    const bool begins = name.size() >= 3 && candidate.starts_with(name);
    const std::size_t distance = begins ? 1 : edits(name, candidate);
    if (distance >= fewest) continue;
    fewest = distance;
    nearest = &candidate;
  }
  if (nearest != nullptr) return "; did you mean '" + *nearest + "'?";
  return known.empty() ? "; none are known" : "; known: " + joined(known, ", ");
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace trasmuon::lab
