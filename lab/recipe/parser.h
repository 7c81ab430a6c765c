// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/options.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/recipe/toml.h"
#include "lab/study/study.h"

namespace trasmuon::lab {

/// A recipe's sections, its names checked: the study, rules and methods exist, no key is unknown. Values other than
/// seeds are not checked yet; those in [settings] and [method] are single ones, no lists.
struct Recipe {
  struct Method {
    std::string name, where;
    Options rule;  ///< with the values of its preset
    std::vector<TomlEntry> entries;
  };
  struct Part {
    std::string name, where;
    std::vector<const Method*> methods;
    std::vector<std::uint64_t> seeds;
    std::vector<TomlEntry> entries;
  };

  const Study* study = nullptr;
  std::string title;
  std::vector<TomlEntry> settings;
  std::vector<Method> methods;
  std::vector<Part> parts;

  Recipe() = default;
  Recipe(Recipe&&) = default;  // parts point at methods
};

/// `name` is the file's, for messages.
Recipe parse_recipe(std::string_view text, const std::string& name, const std::vector<std::string>& overrides);

std::vector<std::string> setting_names(const Study& study);
std::vector<std::string> field_names(const Options& rule);

}  // namespace trasmuon::lab
