// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trasmuon::lab {

/// Where recipes are looked for: $TRASMUON_RECIPES, then share/trasmuon/recipes beside the program's bin/. Only folders
/// that exist.
std::vector<std::filesystem::path> recipe_folders();

/// All recipes there, by name; of two with one name the first counts.
std::vector<std::filesystem::path> known_recipes();

/// A path to a file, or the name of a known recipe; throws Error with the nearest name.
std::filesystem::path find_recipe(const std::string& path_or_name);

}  // namespace trasmuon::lab
