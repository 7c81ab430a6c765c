// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/files.h"

#include <trasmuon/error.h>

#include <cstdlib>
#include <map>

#include "lab/study/names.h"

namespace trasmuon::lab {

namespace fs = std::filesystem;

std::vector<fs::path> recipe_folders() {
  std::vector<fs::path> folders;
  if (const char* chosen = std::getenv("TRASMUON_RECIPES")) folders.emplace_back(chosen);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(program.parent_path().parent_path() / "share/trasmuon/recipes");
  std::erase_if(folders, [](const fs::path& folder) { return !fs::is_directory(folder); });
  return folders;
}

std::vector<fs::path> known_recipes() {
  std::map<std::string, fs::path> by_name;
  for (const fs::path& folder : recipe_folders()) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".toml") by_name.try_emplace(entry.path().stem(), entry.path());
    }
  }
  std::vector<fs::path> files;
  for (const auto& [name, file] : by_name) files.push_back(file);
  return files;
}

fs::path find_recipe(const std::string& path_or_name) {
  if (fs::is_regular_file(path_or_name)) return path_or_name;
  std::vector<std::string> names;
  for (const fs::path& file : known_recipes()) {
    if (file.stem() == path_or_name) return file;
    names.push_back(file.stem());
  }
  throw Error("there is no recipe '" + path_or_name + "', neither a file nor a known name" +
              suggestion(path_or_name, names));
}

}  // namespace trasmuon::lab
