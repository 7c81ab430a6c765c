// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/json.h"

#include <set>
#include <vector>

#include "trasmuon/error.h"

namespace trasmuon {

using nlohmann::json;

json parse_json(std::string_view text) {
  // The library takes a zero byte for the end of the text.
  if (text.find('\0') != std::string_view::npos) throw Error("is not valid JSON: it contains a zero byte");
  std::vector<std::set<std::string>> open_objects;
  const auto watch_keys = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) {
      open_objects.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open_objects.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second) throw Error("has the key '" + key + "' twice");
    }
    return true;
  };
  try {
    return json::parse(text, watch_keys);
  } catch (const json::exception& error) {
    throw Error(std::string("is not valid JSON: ") + error.what());
  }
}

std::string to_text(const json& value) {
  try {
    return value.dump();
  } catch (const json::exception& error) {
    throw Error(std::string("names must be UTF-8: ") + error.what());
  }
}

}  // namespace trasmuon
