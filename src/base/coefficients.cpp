// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "trasmuon/error.h"
#include "trasmuon/orthogonalize.h"

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
// keeps singular values that rounding lifted above 1 inside the basin.
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

constexpr CoefficientSet kSets[] = {{"keller", kKeller}, {"you", kYou}, {"polar_express", kPolarExpress}};

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

}  // namespace trasmuon
