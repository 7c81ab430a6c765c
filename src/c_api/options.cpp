// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/options.h"

#include <charconv>

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "trasmuon/error.h"
#include "trasmuon/option_fields.h"

using namespace trasmuon::c_api;

namespace trasmuon::c_api {
namespace {

std::vector<const char*> field_names(const Options& options) {
  std::vector<const char*> names;
  std::visit(
      [&](const auto& o) {
        visit_fields(o, [&](const char* name, const auto&, const Range&, const char*) { names.push_back(name); });
      },
      options);
  return names;
}

bool is_switch(const std::string& value) { return value == "true" || value == "false"; }

double number_of(const Options& options, std::string_view field) {
  const std::string text = get_field(options, field);
  if (is_switch(text)) return text == "true" ? 1 : 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(std::string(rule_name(options)) + ": " + std::string(field) + " must be a number, got '" + text + "'");
  }
  return value;
}

}  // namespace
}  // namespace trasmuon::c_api

int trasmuon_options_create(const char* rule, trasmuon_options** options) {
  return guarded(__func__, [&] {
    trasmuon_options*& out = require(options, "options");
    out = new trasmuon_options{trasmuon::options_for(&require(rule, "rule"))};
  });
}

int trasmuon_options_create_preset(const char* rule, const char* preset, trasmuon_options** options) {
  return guarded(__func__, [&] {
    trasmuon_options*& out = require(options, "options");
    out = new trasmuon_options{trasmuon::options_for(&require(rule, "rule"), &require(preset, "preset"))};
  });
}

void trasmuon_options_destroy(trasmuon_options* options) { delete options; }

int trasmuon_options_rule(const trasmuon_options* options, const char** name) {
  return guarded(__func__, [&] { require(name, "name") = trasmuon::rule_name(require(options, "options").options); });
}

int trasmuon_options_set(trasmuon_options* options, const char* field, const char* value) {
  return guarded(__func__, [&] {
    trasmuon::set_field(require(options, "options").options, &require(field, "field"), &require(value, "value"));
  });
}

int trasmuon_options_set_number(trasmuon_options* options, const char* field, double value) {
  return guarded(__func__,
                 [&] { trasmuon::set_field(require(options, "options").options, &require(field, "field"), value); });
}

int trasmuon_options_get(const trasmuon_options* options, const char* field, const char** text) {
  return guarded(__func__, [&] {
    const trasmuon::Options& o = require(options, "options").options;
    require(text, "text") = lend_text(trasmuon::get_field(o, &require(field, "field")));
  });
}

int trasmuon_options_get_number(const trasmuon_options* options, const char* field, double* value) {
  return guarded(__func__, [&] {
    require(value, "value") = number_of(require(options, "options").options, &require(field, "field"));
  });
}

int trasmuon_options_field_count(const trasmuon_options* options, size_t* count) {
  return guarded(__func__, [&] { require(count, "count") = field_names(require(options, "options").options).size(); });
}

int trasmuon_options_field(const trasmuon_options* options, size_t index, const char** name) {
  return guarded(__func__, [&] {
    const trasmuon::Options& o = require(options, "options").options;
    const std::vector<const char*> names = field_names(o);
    if (index >= names.size()) {
      throw trasmuon::Error(std::string(trasmuon::rule_name(o)) + ": field index must be < " +
                            std::to_string(names.size()) + ", got " + std::to_string(index));
    }
    require(name, "name") = names[index];
  });
}

int trasmuon_options_describe(const trasmuon_options* options, const char** text) {
  return guarded(__func__, [&] {
    const trasmuon::Options& o = require(options, "options").options;
    require(text, "text") = lend_text(trasmuon::describe(o));
  });
}
