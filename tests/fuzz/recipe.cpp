// SPDX-License-Identifier: Apache-2.0
// The input is a recipe of the study of tests/lab/support/tiny_study.cpp.
#include "lab/recipe/recipe.h"

#include "fuzz/fuzz.h"
#include "lab/recipe/parser.h"
#include "lab/records/files.h"
#include "support/temporary_directory.h"

namespace {

using namespace trasmuon;

/// The runs that the recipe asks for.
double runs_of(const lab::Recipe& recipe) {
  double all = 0;
  for (const lab::Recipe::Part& part : recipe.parts) {
    double runs = static_cast<double>(part.methods.size()) * static_cast<double>(part.seeds.size());
    for (const lab::TomlEntry& entry : part.entries) runs *= entry.value.is_array() ? entry.value.size() : 1.0;
    all += runs;
  }
  return all;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryDirectory directory;
  const std::string_view text = fuzz::text_of(data, size);
  try {
    const double runs = runs_of(lab::parse_recipe(text, "recipe.toml", {}));
    if (runs > 1000) return 0;  // it would only be slow
    test::write_file(directory / "recipe.toml", std::string(text));
    const lab::Plan plan = lab::read_recipe(directory / "recipe.toml");
    fuzz::require(static_cast<double>(plan.runs.size()) == runs, "every run is planned");
    for (const lab::PlannedRun& run : plan.runs) {
      const lab::RunSpec again = lab::run_spec_from_json(lab::to_json(run.spec));
      fuzz::require(lab::run_id(again) == lab::run_id(run.spec), "a run's record reads back as it was");
    }
  } catch (const Error&) {
  }
  return 0;
}
