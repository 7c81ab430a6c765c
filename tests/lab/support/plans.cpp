// SPDX-License-Identifier: Apache-2.0
#include "lab/support/plans.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lab/recipe/recipe.h"

namespace trasmuon::lab {

namespace fs = std::filesystem;

std::string tiny_recipe(const std::string& head, const std::string& part) {
  return "study = \"tiny\"\n" + head +
         "\n[method.muon]\nrule = \"muon\"\n[method.adamw]\nrule = \"adamw\"\nlr = 0.1\n" + "[part.table]\n" + part +
         "\n";
}

Plan plan_of(const std::string& recipe, const std::vector<std::string>& overrides, const Selection& selection) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "x.toml", recipe);
  return read_recipe(folder / "x.toml", overrides, selection);
}

namespace {

/// A FILE that keeps what is written to it; given back also when a run throws.
class TextStream {
 public:
  TextStream() : file_(::open_memstream(&text_, &size_)) {}
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;
  ~TextStream() {
    std::fclose(file_);
    std::free(text_);  // NOLINT: open_memstream's
  }
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

}  // namespace

Outcome run_quietly(const Plan& plan, const fs::path& out, int jobs, std::string* console) {
  TextStream stream;
  const Outcome outcome = run_plan(plan, {.out = out, .jobs = jobs, .command = "test", .console = stream.file()});
  if (console != nullptr) *console = stream.text();
  return outcome;
}

std::vector<std::string> numbers_in(const fs::path& folder) {
  std::vector<std::string> texts;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name != "metrics.csv" && name != "summary.json") continue;
    texts.push_back(fs::relative(entry.path(), folder).string() + "\n" + test::read_file(entry.path()));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace trasmuon::lab
