// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/recipe/selection.h"
#include "lab/records/plan.h"
#include "lab/runner/runner.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {

/// A recipe of the study "tiny" with two methods: muon and adamw.
std::string tiny_recipe(const std::string& head = "seeds = 3", const std::string& part = "kappa = [10, 100]");

/// The plan of this text, as a file of the name x.toml.
Plan plan_of(const std::string& recipe, const std::vector<std::string>& overrides = {},
             const Selection& selection = {});

/// Runs it without printing; `console` gets what would be printed.
Outcome run_quietly(const Plan& plan, const std::filesystem::path& out, int jobs = 2, std::string* console = nullptr);

/// Every file under the folder and its text, without what tells the time.
std::vector<std::string> numbers_in(const std::filesystem::path& folder);

}  // namespace trasmuon::lab
