// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trasmuon/export.h"
#include "trasmuon/tensor.h"

namespace trasmuon {

enum class Family : std::uint8_t {
  matrix,  ///< hidden weights: TrasMuon, NorMuon, Muon, Dion
  adamw,   ///< embeddings, heads, norms, biases
};

struct NamedShape {
  std::string name;
  Shape shape;
};

/// `pattern` is matched against the whole name; '*' stands for any run of characters,
/// '?' for one. The last override that matches wins.
struct FamilyOverride {
  std::string pattern;
  Family family;
};

struct Classified {
  std::string name;
  Shape shape;
  Family family;
  std::string reason;  ///< "hidden matrix", "embedding", "bias", "override *.gate.weight", ...
};

/// Which parameters take the matrix rule and which AdamW, by name and shape. Names are
/// split at '.', '/' and '_' and compared by whole words (`multihead` is no head); inside
/// numbered blocks `head` and `output` are hidden weights.
/// Throws Error on a name listed twice, an empty name, a zero-size parameter, an override
/// that matches nothing or sends a vector to the matrix rule, and when no parameter is
/// left for the matrix rule.
TRASMUON_API std::vector<Classified> classify(std::span<const NamedShape> parameters,
                                              std::span<const FamilyOverride> overrides = {});

/// An aligned table with totals, for printing.
TRASMUON_API std::string to_string(std::span<const Classified> table);

}  // namespace trasmuon
