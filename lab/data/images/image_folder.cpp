// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/image_folder.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// What is wrong with a folder. All of it is found before it is thrown.
class Complaints {
 public:
  void add(std::string complaint) { all_.push_back(std::move(complaint)); }
  void throw_if_any(const fs::path& folder) const {
    constexpr std::size_t kMostShown = 20;
    if (all_.empty()) return;
    std::string text = fmt::format("the image folder {} is not as its class list says:", folder.string());
    for (std::size_t i = 0; i < std::min(all_.size(), kMostShown); ++i) text += "\n  " + all_[i];
    if (all_.size() > kMostShown) text += fmt::format("\n  and {} more", all_.size() - kMostShown);
    throw Error(text);
  }

 private:
  std::vector<std::string> all_;
};

/// What lies in a folder, sorted by name.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator iterator(folder, error);
  for (; !error && iterator != fs::directory_iterator(); iterator.increment(error)) entries.push_back(*iterator);
  if (error) throw Error(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_image_name(const fs::path& file) {
  std::string extension = file.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension == ".jpeg" || extension == ".jpg" || extension == ".png";
}

}  // namespace

std::vector<std::string> parse_class_list(std::string_view text, const std::string& name) {
  std::vector<std::string> classes;
  std::unordered_set<std::string_view> seen;
  int line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto refuse = [&](const std::string& reason) {
      throw Error(fmt::format("{}:{}: {}", name, line_number, reason));
    };
    const bool is_word =
        std::none_of(line.begin(), line.end(), [](char c) { return (c >= 0 && c <= ' ') || c == '/'; });
    if (!is_word || line.starts_with('.'))
      refuse(fmt::format("a class must be one word, the name of its folder, got '{}'", line));
    if (!seen.insert(line).second) refuse(fmt::format("the class {} appears twice", line));
    classes.emplace_back(line);
  }
  if (classes.empty()) throw Error(name + ": there is no class in it");
  return classes;
}

ImageFolder read_image_folder(const fs::path& folder, const fs::path& class_list, Split split,
                              const ClassCounts& counts) {
  const fs::path place = folder / (split == Split::train ? "train" : "val");
  ImageFolder images{.classes = parse_class_list(read_text(class_list), class_list.string())};
  std::unordered_set<std::string> wanted(images.classes.begin(), images.classes.end());
  Complaints complaints;
  for (const fs::directory_entry& entry : entries_of(place)) {
    const std::string name = entry.path().filename().string();
    if (!wanted.contains(name)) complaints.add(name + " is no class of the list");
  }
  for (std::size_t label = 0; label < images.classes.size(); ++label) {
    const fs::path of_class = place / images.classes[label];
    std::error_code error;
    if (!fs::is_directory(of_class, error)) {
      complaints.add(fmt::format("the class {} has no folder", images.classes[label]));
      continue;
    }
    std::int64_t found = 0;
    for (const fs::directory_entry& entry : entries_of(of_class)) {
      if (!entry.is_regular_file(error) || !is_image_name(entry.path())) {
        complaints.add(fmt::format("{} is no .jpeg, .jpg or .png file", fs::relative(entry.path(), place).string()));
        continue;
      }
      images.files.push_back(entry.path());
      images.labels.push_back(static_cast<std::int64_t>(label));
      ++found;
    }
    if (found < counts.least) {
      complaints.add(
          fmt::format("the class {} must have at least {} images, got {}", images.classes[label], counts.least, found));
    } else if (found > counts.most) {
      complaints.add(
          fmt::format("the class {} must have at most {} images, got {}", images.classes[label], counts.most, found));
    }
  }
  complaints.throw_if_any(place);
  return images;
}

}  // namespace trasmuon::lab
