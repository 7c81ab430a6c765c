// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/parser.h"

#include <trasmuon/error.h>
#include <trasmuon/option_fields.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "lab/study/names.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& why) { throw Error(where + " " + why); }

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Takes the entry out of the list.
std::optional<TomlEntry> take(std::vector<TomlEntry>& entries, std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const TomlEntry& e) { return e.key == key; });
  if (found == entries.end()) return {};
  TomlEntry entry = std::move(*found);
  entries.erase(found);
  return entry;
}

std::string text_value(const TomlEntry& entry) {
  if (!entry.value.is_string()) refuse(entry.where, entry.key + " must be text in quotes, got " + entry.value.dump());
  return entry.value.get<std::string>();
}

/// Records are JSON, whose texts are UTF-8.
void check_encoding(const TomlEntry& entry) {
  try {
    static_cast<void>(entry.value.dump());
  } catch (const Json::exception&) {
    refuse(entry.where, entry.key + " must be text in UTF-8");
  }
}

void check_single(const TomlEntry& entry) {
  if (entry.value.is_array())
    refuse(entry.where, entry.key + " must be a single value; lists are allowed only in a [part]");
}

std::vector<std::uint64_t> seeds_of(const TomlEntry& entry) {
  constexpr std::int64_t kMost = 100000;
  const auto fail = [&] {
    refuse(entry.where, "seeds must be a whole number in [1, 100000] or a list of different whole numbers >= 0, got " +
                            entry.value.dump());
  };
  std::vector<std::uint64_t> seeds;
  if (entry.value.is_number_integer()) {
    const auto count = entry.value.get<std::int64_t>();
    if (count < 1 || count > kMost) fail();
    seeds.resize(static_cast<std::size_t>(count));
    std::iota(seeds.begin(), seeds.end(), std::uint64_t{0});
    return seeds;
  }
  if (!entry.value.is_array() || entry.value.empty()) fail();
  for (const Json& seed : entry.value) {
    if (!seed.is_number_integer() || seed.get<std::int64_t>() < 0) fail();
    seeds.push_back(seed.get<std::uint64_t>());
  }
  if (std::set(seeds.begin(), seeds.end()).size() != seeds.size()) fail();
  return seeds;
}

class RecipeParser {
 public:
  RecipeParser(std::string_view text, const std::string& name) : sections_(parse_toml(text, name)), name_(name) {}

  Recipe parse(const std::vector<std::string>& overrides) {
    for (const TomlSection& section : sections_) {
      for (const TomlEntry& entry : section.entries) check_encoding(entry);
    }
    read_head();
    for (const TomlSection& section : sections_) {
      if (section.name.starts_with("method.")) read_method(section);
    }
    for (const TomlSection& section : sections_) {
      if (section.name.empty() || section.name.starts_with("method.")) continue;
      if (section.name == "settings") read_settings(section);
      else if (section.name.starts_with("part.")) read_part(section);
      else
        refuse(section.where, "is not a section of a recipe; sections are [settings], [method.NAME] and [part.NAME]");
    }
    if (recipe_.parts.empty()) refuse(name_ + ":", "there is no [part.NAME]: nothing to run");
    for (const std::string& text : overrides) apply_override(text);
    return std::move(recipe_);
  }

 private:
  void read_head() {
    std::vector<TomlEntry> entries = sections_.front().entries;
    const auto study = take(entries, "study");
    if (!study) refuse(name_ + ":", "study is missing");
    try {
      recipe_.study = &find_study(text_value(*study));
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(study->where)) throw;
      refuse(study->where, error.what());
    }
    settings_ = setting_names(*recipe_.study);
    if (const auto title = take(entries, "title")) recipe_.title = text_value(*title);
    const auto seeds = take(entries, "seeds");
    seeds_ = seeds ? seeds_of(*seeds) : std::vector<std::uint64_t>{0};
    if (entries.empty()) return;
    const TomlEntry& unknown = entries.front();
    if (contains(settings_, unknown.key)) refuse(unknown.where, unknown.key + " belongs under [settings]");
    refuse(unknown.where, "unknown key '" + unknown.key + "' before the first section" +
                              suggestion(unknown.key, {"study", "title", "seeds"}));
  }

  void read_settings(const TomlSection& section) {
    recipe_.settings = section.entries;
    for (const TomlEntry& entry : section.entries) {
      check_single(entry);
      if (contains(settings_, entry.key)) continue;
      refuse(entry.where, study_name() + " has no setting '" + entry.key + "'" + suggestion(entry.key, settings_));
    }
  }

  void read_method(const TomlSection& section) {
    Recipe::Method method{
        .name = name_after_dot(section), .where = section.where, .rule = {}, .entries = section.entries};
    const auto rule = take(method.entries, "rule");
    if (!rule) refuse(section.where, "rule is missing; it must be trasmuon, normuon, muon, dion or adamw");
    const auto preset = take(method.entries, "preset");
    const std::string rule_text = text_value(*rule), preset_text = preset ? text_value(*preset) : "default";
    try {
      method.rule = options_for(rule_text);
    } catch (const Error& error) {
      refuse(rule->where, error.what());
    }
    try {
      method.rule = options_for(rule_text, preset_text);
    } catch (const Error& error) {
      refuse(preset->where, error.what());
    }
    for (const TomlEntry& entry : method.entries) {
      check_single(entry);
      check_key(entry, method);
    }
    recipe_.methods.push_back(std::move(method));
  }

  void read_part(const TomlSection& section) {
    Recipe::Part part{.name = name_after_dot(section),
                      .where = section.where,
                      .methods = {},
                      .seeds = seeds_,
                      .entries = section.entries};
    if (const auto methods = take(part.entries, "methods")) choose_methods(part, *methods);
    else
      for (const Recipe::Method& method : recipe_.methods) part.methods.push_back(&method);
    if (part.methods.empty()) refuse(section.where, "has no method; the recipe needs a [method.NAME]");
    if (const auto seeds = take(part.entries, "seeds")) part.seeds = seeds_of(*seeds);
    for (const TomlEntry& entry : part.entries) {
      if (entry.value.is_array() && entry.value.empty()) refuse(entry.where, entry.key + " must not be an empty list");
      for (const Recipe::Method* method : part.methods) check_key(entry, *method);
    }
    recipe_.parts.push_back(std::move(part));
  }

  void choose_methods(Recipe::Part& part, const TomlEntry& entry) const {
    std::vector<std::string> known;
    for (const Recipe::Method& method : recipe_.methods) known.push_back(method.name);
    for (const Json& name : entry.value.is_array() ? entry.value : Json::array({entry.value})) {
      const std::string text = name.is_string() ? name.get<std::string>() : name.dump();
      const auto found = std::find(known.begin(), known.end(), text);
      if (found == known.end()) {
        refuse(entry.where, "methods: there is no [method." + text + "]" + suggestion(text, known));
      }
      const Recipe::Method* method = &recipe_.methods[static_cast<std::size_t>(found - known.begin())];
      if (std::find(part.methods.begin(), part.methods.end(), method) != part.methods.end()) {
        refuse(entry.where, "methods: " + method->name + " appears twice");
      }
      part.methods.push_back(method);
    }
  }

  /// A method's or part's key is a setting of the study or a field of the method's rule.
  void check_key(const TomlEntry& entry, const Recipe::Method& method) const {
    std::vector<std::string> known = field_names(method.rule);
    known.insert(known.end(), settings_.begin(), settings_.end());
    if (contains(known, entry.key)) return;
    refuse(entry.where, "'" + entry.key + "' is neither a field of " + rule_name(method.rule) + " (method " +
                            method.name + ") nor a setting of " + study_name() + suggestion(entry.key, known));
  }

  void apply_override(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string where = "--set " + text + ":";
    if (equals == std::string::npos) refuse(where, "must be key=value");
    if (!is_utf8(text)) refuse(where, "must be UTF-8");
    TomlEntry entry{text.substr(0, equals), parse_toml_value(text.substr(equals + 1)), where};
    if (entry.value.is_null()) entry.value = text.substr(equals + 1);  // text needs no quotes here
    check_encoding(entry);
    if (entry.key == "seeds") {
      for (Recipe::Part& part : recipe_.parts) part.seeds = seeds_of(entry);
      return;
    }
    if (!contains(settings_, entry.key)) {
      std::vector<std::string> known = settings_;
      known.emplace_back("seeds");
      refuse(where, study_name() + " has no setting '" + entry.key + "'" + suggestion(entry.key, known));
    }
    if (entry.value.is_array()) refuse(where, entry.key + " must be a single value");
    for (Recipe::Method& method : recipe_.methods) take(method.entries, entry.key);
    for (Recipe::Part& part : recipe_.parts) {
      const auto axis = take(part.entries, entry.key);
      // The axis stays, with one point, so that reports find it.
      if (axis && axis->value.is_array()) part.entries.push_back({entry.key, Json::array({entry.value}), where});
    }
    take(recipe_.settings, entry.key);
    recipe_.settings.push_back(std::move(entry));
  }

  static std::string name_after_dot(const TomlSection& section) {
    const std::string name = section.name.substr(section.name.find('.') + 1);
    if (name.empty() || name.find('.') != std::string::npos) {
      refuse(section.where, "the name after the first dot must consist of letters, digits, - and _");
    }
    constexpr std::size_t kLongest = 100;  // part of the name of a folder
    if (name.size() > kLongest) {
      refuse(section.where, "the name must have at most 100 characters, got " + std::to_string(name.size()));
    }
    return name;
  }

  std::string study_name() const { return std::string(recipe_.study->name()); }

  std::vector<TomlSection> sections_;
  std::string name_;
  Recipe recipe_;
  std::vector<std::string> settings_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& name, const std::vector<std::string>& overrides) {
  return RecipeParser(text, name).parse(overrides);
}

std::vector<std::string> setting_names(const Study& study) {
  std::vector<std::string> names;
  for (const Field& field : study.settings()) names.push_back(field.name);
  return names;
}

std::vector<std::string> field_names(const Options& rule) {
  std::vector<std::string> names;
  std::visit(
      [&](const auto& options) {
        visit_fields(options,
                     [&](const char* name, const auto&, const Range&, const char*) { names.emplace_back(name); });
      },
      rule);
  return names;
}

}  // namespace trasmuon::lab
