// SPDX-License-Identifier: Apache-2.0
#include "lab/report/figures/figure.h"

#include <array>
#include <map>

namespace trasmuon::lab {

// The palette of Okabe and Ito (Color Universal Design, 2008), without black and yellow, which are hard to see on a
// dark or a white page.
Style method_style(const std::string& method) {
  static const std::map<std::string, Style> kStyles = {
      {"trasmuon", {"#D55E00", 1, 7}},   {"clip-sf", {"#D55E00", 1, 7}}, {"clip-only", {"#E69F00", 2, 5}},
      {"noclip", {"#4D4D4D", 1, 4}},     {"normuon", {"#0072B2", 4, 9}}, {"muon", {"#56B4E9", 1, 11}},
      {"hard-clip", {"#009E73", 5, 13}}, {"adamw", {"#8A7A00", 2, 8}},   {"dion", {"#009E73", 3, 10}},
      {"history", {"#6A3D9A", 2, 13}},   {"paper", {"#B15928", 5, 12}},  {"released", {"#A6761D", 3, 15}}};
  static const std::array<const char*, 6> kOthers = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};
  const auto known = kStyles.find(method);
  if (known != kStyles.end()) return known->second;
  std::size_t hash = 0;
  for (const char c : method) hash = 31 * hash + static_cast<unsigned char>(c);
  return {kOthers[hash % kOthers.size()], static_cast<int>(hash / 7 % 5) + 1, static_cast<int>(hash / 11 % 10) + 4};
}

std::string method_label(const std::string& method) {
  static const std::map<std::string, std::string> kLabels = {
      {"adamw", "AdamW"}, {"muon", "Muon"}, {"normuon", "NorMuon"}, {"dion", "Dion"}, {"trasmuon", "TrasMuon"}};
  const auto known = kLabels.find(method);
  return known == kLabels.end() ? method : known->second;
}

}  // namespace trasmuon::lab
