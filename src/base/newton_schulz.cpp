// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "trasmuon/error.h"
#include "trasmuon/newton_schulz.h"

namespace trasmuon {
namespace {

// Keller Jordan, Muon (2024).
constexpr NewtonSchulzTriple kKeller[] = {{3.4445, -4.7750, 2.0315}};

// Jiacheng You's schedule, modded-nanogpt (2025).
constexpr NewtonSchulzTriple kYou[] = {{4.0848, -6.8946, 2.9270},
                                       {3.9505, -6.3029, 2.6377},
                                       {3.7418, -5.5913, 2.3037},
                                       {2.8769, -3.1427, 1.2046},
                                       {2.8366, -3.0525, 1.2012}};

// Amsel et al., The Polar Express (arXiv 2505.16932). Dividing the argument by 1.01
// keeps singular values that rounding has raised above 1 in the range of convergence.
constexpr NewtonSchulzTriple safe(double a, double b, double c) {
  constexpr double s = 1.01;
  return {a / s, b / (s * s * s), c / (s * s * s * s * s)};
}
constexpr NewtonSchulzTriple kPolarExpress[] = {safe(8.28721201814563, -23.595886519098837, 17.300387312530933),
                                                safe(4.107059111542203, -2.9478499167379106, 0.5448431082926601),
                                                safe(3.9486908534822946, -2.908902115962949, 0.5518191394370137),
                                                safe(3.3184196573706015, -2.488488024314874, 0.51004894012372),
                                                safe(2.300652019954817, -1.6689039845747493, 0.4188073119525673),
                                                safe(1.891301407787398, -1.2679958271945868, 0.37680408948524835),
                                                {1.875, -1.25, 0.375}};

// For four steps: each triple is the odd quintic closest to 1 on the interval that the steps before it leave of
// [0.003, 1], 1 % larger at its upper end, where rounding may take values. (What The Polar Express does, for another
// interval.)
constexpr NewtonSchulzTriple kMinimax4[] = {
    {8.3019, -24.0424, 17.4699}, {4.0078, -2.9266, 0.5425}, {3.4896, -2.5654, 0.5028}, {2.4973, -1.8126, 0.4217}};

constexpr CoefficientSet kSets[] = {
    {"keller", kKeller}, {"you", kYou}, {"polar_express", kPolarExpress}, {"minimax4", kMinimax4}};

}  // namespace

std::span<const CoefficientSet> coefficient_sets() { return kSets; }

const CoefficientSet& coefficient_set(std::string_view name) {
  std::string known;
  for (const CoefficientSet& set : kSets) {
    if (set.name == name) return set;
    known += (known.empty() ? "" : ", ") + std::string(set.name);
  }
  throw Error("coefficients must be one of " + known + ", got '" + std::string(name) + "'");
}

namespace {

/// Parses "a, b, c; a, b, c"; returns an empty list if the text has another form.
std::vector<NewtonSchulzTriple> parse_list(std::string_view text) {
  std::vector<double> numbers;
  std::string separators;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    double value = 0;
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return {};
    numbers.push_back(value);
    at = next;
    while (at < end && *at == ' ') ++at;
    if (at < end) separators += *at++;
  }
  if (numbers.empty() || numbers.size() % 3 != 0) return {};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const char expected = i + 1 == numbers.size() ? '\0' : i % 3 == 2 ? ';' : ',';
    if ((i < separators.size() ? separators[i] : '\0') != expected) return {};
  }
  std::vector<NewtonSchulzTriple> triples;
  for (std::size_t i = 0; i < numbers.size(); i += 3) triples.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  return triples;
}

/// Refuses coefficients that turn descent into ascent: a set made for another normalisation can be
/// negative in (0, 1].
void check_list(std::string_view text, std::span<const NewtonSchulzTriple> triples) {
  constexpr int kSamples = 2000;
  const std::size_t steps = triples.size() + 8;  // the last one is repeated
  for (int i = kSamples; i > 0; --i) {
    double sigma = static_cast<double>(i) / kSamples;
    for (std::size_t step = 0; step < steps; ++step) {
      const auto& [a, b, c] = triples[std::min(step, triples.size() - 1)];
      sigma *= a + sigma * sigma * (b + c * sigma * sigma);
      if (!(sigma > 0 && sigma < 10)) {
        throw Error("coefficients must keep singular values from (0, 1] in (0, 10), got '" + std::string(text) +
                    "', which fails at step " + std::to_string(step + 1));
      }
    }
  }
}

}  // namespace

std::vector<NewtonSchulzTriple> newton_schulz_triples(std::string_view coefficients, int steps) {
  const std::vector<NewtonSchulzTriple> own = parse_list(coefficients);
  if (!own.empty()) check_list(coefficients, own);
  const std::span<const NewtonSchulzTriple> known = own.empty() ? coefficient_set(coefficients).triples : own;
  std::vector<NewtonSchulzTriple> triples;
  for (std::size_t i = 0; i < static_cast<std::size_t>(steps); ++i) {
    triples.push_back(known[std::min(i, known.size() - 1)]);
  }
  return triples;
}

}  // namespace trasmuon
