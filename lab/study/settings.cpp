// SPDX-License-Identifier: Apache-2.0
#include "lab/study/settings.h"

#include <trasmuon/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "lab/study/names.h"

namespace trasmuon::lab::detail {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& rule, const Json& value) {
  throw Error(what + " must be " + rule + ", got " + (value.is_string() ? "'" + to_text(value) + "'" : to_text(value)));
}

std::optional<double> number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return {};
  const auto& text = value.get_ref<const std::string&>();
  double parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return parsed;
}

std::string or_list(const std::vector<std::string>& values) {
  if (values.size() < 2) return joined(values, "");
  return joined({values.begin(), values.end() - 1}, ", ") + " or " + values.back();
}

}  // namespace

void assign(bool& member, const Json& value, const Range&, const std::string& what) {
  if (value.is_boolean()) member = value.get<bool>();
  else if (value == "true" || value == "false") member = value == "true";
  else refuse(what, "true or false", value);
}

void assign(int& member, const Json& value, const Range& range, const std::string& what) {
  const std::optional<double> parsed = number(value);
  if (!parsed || *parsed != std::floor(*parsed) || std::abs(*parsed) > std::numeric_limits<int>::max()) {
    refuse(what, rule_of(member, range), value);
  }
  if (!range.contains(*parsed)) refuse(what, to_string(range), *parsed);
  member = static_cast<int>(*parsed);
}

void assign(double& member, const Json& value, const Range& range, const std::string& what) {
  const std::optional<double> parsed = number(value);
  if (!parsed) refuse(what, "a number " + to_string(range), value);
  if (!range.contains(*parsed)) refuse(what, to_string(range), *parsed);
  member = *parsed;
}

void assign(std::string& member, const Json& value, const Choices& choices, const std::string& what) {
  const auto& known = choices.values;
  if (!value.is_string()) refuse(what, known.empty() ? "text" : rule_of(member, choices), value);
  if (!known.empty() && std::find(known.begin(), known.end(), value.get<std::string>()) == known.end()) {
    refuse(what, rule_of(member, choices), value);
  }
  member = value.get<std::string>();
}

std::string rule_of(bool, const Range&) { return "true or false"; }
std::string rule_of(int, const Range& range) { return "a whole number " + to_string(range); }
std::string rule_of(double, const Range& range) { return to_string(range); }
std::string rule_of(const std::string&, const Choices& choices) { return or_list(choices.values); }

void check_keys(const Json& given, const std::vector<std::string>& known, std::string_view owner) {
  for (const auto& [key, value] : given.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw Error(std::string(owner) + ": has no setting '" + key + "'" + suggestion(key, known));
  }
}

}  // namespace trasmuon::lab::detail
