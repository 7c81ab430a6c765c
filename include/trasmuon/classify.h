// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

/// Sends parameters to a family. `pattern` matches the whole name; '*' stands for any characters,
/// '?' for one. The last override that matches a name wins.
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

/// How classify() decides.
enum class Routing : std::uint8_t {
  standard,  ///< by name and shape
  released,  ///< as trasmuon-pytorch 0.1.0: two dimensions take the matrix rule, embeddings and heads too
};

/// Returns the routing of a preset, "default" or "released"; throws Error with the known ones for another name.
TRASMUON_API Routing routing_for(std::string_view preset);

/// Decides by name and shape which parameters take the matrix rule and which AdamW. Names are
/// split at '.', '/' and '_' and compared by whole words (`multihead` is not `head`); inside
/// numbered blocks `head` and `output` are hidden weights.
/// Throws Error if a name is empty or listed twice, a parameter has no elements, an override
/// matches nothing or sends a vector to the matrix rule, or no parameter is left for the
/// matrix rule.
TRASMUON_API std::vector<Classified> classify(std::span<const NamedShape> parameters,
                                              std::span<const FamilyOverride> overrides = {},
                                              Routing routing = Routing::standard);

/// Returns an aligned table with totals, for printing; throws Error if a total does not fit 64 bits.
TRASMUON_API std::string to_string(std::span<const Classified> table);

}  // namespace trasmuon
