// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/recipe/parser.h"

namespace trasmuon::lab {

/// The parts and methods of a recipe that a command asks for, by name; none named: all.
struct Selection {
  std::vector<std::string> parts, methods;
};

/// Removes everything else from the recipe's parts. Throws Error on an unknown name, or if nothing is left.
void select(Recipe& recipe, const Selection& selection);

}  // namespace trasmuon::lab
