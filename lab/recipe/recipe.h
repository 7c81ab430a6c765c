// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/recipe/selection.h"
#include "lab/records/plan.h"

namespace trasmuon::lab {

/// Reads a recipe (TOML, as far as lab/recipe/toml.h goes), checks it and expands it into runs.
///
///   study = "mechanistic"
///   title = "..."
///   seeds = 24                      # seeds 0 .. 23, or a list
///   [settings]                      # of the study, for all runs
///   steps = 1005
///   [method.clip-sf]                # an optimizer: its rule, its fields, and settings of the study
///   rule = "trasmuon"
///   preset = "paper"                # optional: what its fields start from
///   lr = 8e-3
///   [part.table]                    # a grid: every method at every combination of the lists
///   methods = ["normuon", "clip-sf"]   # optional: all
///   b_basis = ["identity", "random"]   # a setting or an optimizer's field; a list is an axis, a single value is none
///   kappa = [1e2, 1e4, 1e6]
///   seeds = 8                       # optional
///
/// Later ones override earlier ones: defaults, presets, [settings], [method], [part]. `overrides` are "key=value" from
/// the command line: a setting of the study or "seeds", for every run; an axis becomes that one value. `selection`
/// leaves out parts and methods. Throws Error with file, line, section, key, value and rule.
Plan read_recipe(const std::filesystem::path& file, const std::vector<std::string>& overrides = {},
                 const Selection& selection = {});

}  // namespace trasmuon::lab
