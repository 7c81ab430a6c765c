// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/option_fields.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/records/json.h"

// A study's settings are a struct that lists its fields once, as the optimizers' options do:
//
//   struct PinnSettings { int steps = 4000; bool events = true; std::string layers = "all"; };
//   template <OptionsOf<PinnSettings> S, class Visitor>     // S is PinnSettings or const PinnSettings
//   void visit_settings(S& s, Visitor&& visit) {            // found by argument-dependent lookup
//     visit("steps", s.steps, at_least(1), "training steps");
//     visit("layers", s.layers, one_of({"hidden", "all"}), "which weights the matrix rule trains");
//   }
//
// Defaults, checks, `trasmuon list`, manifests and recipes all read that list. Members are
// bool, int, double or std::string.
namespace trasmuon::lab {

/// The values that a text setting may take; none listed: any text.
struct Choices {
  std::vector<std::string> values;
};
inline Choices one_of(std::vector<std::string> values) { return {std::move(values)}; }

/// A setting or option as `trasmuon list` shows it.
struct Field {
  std::string name, default_value, rule, description;  ///< rule: "> 0", "true or false", "hidden or all"
};

namespace detail {

// The JSON value, or the text it holds, as the member's type and within its rule. `what` is "pinn: steps".
void assign(bool& member, const Json& value, const Range&, const std::string& what);
void assign(int& member, const Json& value, const Range& range, const std::string& what);
void assign(double& member, const Json& value, const Range& range, const std::string& what);
void assign(std::string& member, const Json& value, const Choices& choices, const std::string& what);

std::string rule_of(bool, const Range&);
std::string rule_of(int, const Range& range);
std::string rule_of(double, const Range& range);
std::string rule_of(const std::string&, const Choices& choices);

void check_keys(const Json& given, const std::vector<std::string>& known, std::string_view owner);

}  // namespace detail

/// The settings with the keys of `given` (JSON values, or text from a recipe) put in. Throws Error naming owner, key,
/// value and rule, and for an unknown key the nearest known one.
template <class Settings>
Settings settings_from(const Json& given, std::string_view owner) {
  Settings settings;
  std::vector<std::string> known;
  visit_settings(settings, [&](const char* name, auto& member, const auto& rule, const char*) {
    known.emplace_back(name);
    if (given.contains(name)) detail::assign(member, given[name], rule, std::string(owner) + ": " + name);
  });
  detail::check_keys(given, known, owner);
  return settings;
}

template <class Settings>
Json settings_to_json(const Settings& settings) {
  Json json = Json::object();
  visit_settings(settings,
                 [&](const char* name, const auto& member, const auto&, const char*) { json[name] = member; });
  return json;
}

template <class Settings>
std::vector<Field> describe_settings() {
  std::vector<Field> fields;
  const Settings settings;
  visit_settings(settings, [&](const char* name, const auto& member, const auto& rule, const char* description) {
    fields.push_back({name, to_text(member), detail::rule_of(member, rule), description});
  });
  return fields;
}

}  // namespace trasmuon::lab
