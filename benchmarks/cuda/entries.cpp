// SPDX-License-Identifier: Apache-2.0
#include "cuda/entries.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>

#include "checkpoint/json_reader.h"
#include "trasmuon/error.h"

namespace trasmuon::bench {
namespace {

constexpr const char* kPath = TRASMUON_BENCH_MODELS;

/// Appends `count` matrices for each [rows, cols, count] of a list.
bool read_matrices(JsonReader& json, std::vector<NamedMatrix>& matrices) {
  return json.read_list([&] {
    std::vector<std::int64_t> shape;
    if (!json.read(shape) || shape.size() != 3) return false;
    for (std::int64_t i = 0; i < shape[2]; ++i)
      matrices.push_back({"p" + std::to_string(matrices.size()), shape[0], shape[1]});
    return true;
  });
}

bool read_all(JsonReader& json, std::vector<Entry>& entries) {
  return json.read_object([&](const std::string& kind) {
    if (kind == "comment") {
      std::string comment;
      return json.read(comment);
    }
    return json.read_object([&](const std::string& name) {
      return read_matrices(json, entries.emplace_back(Entry{name, kind == "models", {}}).matrices);
    });
  });
}

}  // namespace

std::vector<Entry> read_entries(const std::vector<std::string>& only) {
  std::ifstream file(kPath);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(std::string("cannot read ") + kPath);
  JsonReader json(text);
  std::vector<Entry> all;
  if (!read_all(json, all)) throw Error(std::string(kPath) + " is not a list of models and shapes");
  if (only.empty()) return all;
  std::vector<Entry> entries;
  std::string names;
  for (Entry& entry : all) {
    names += (names.empty() ? "'" : ", '") + entry.name + "'";
    if (std::find(only.begin(), only.end(), entry.name) != only.end()) entries.push_back(std::move(entry));
  }
  if (entries.size() != only.size()) throw Error("--only must be one of " + names);
  return entries;
}

}  // namespace trasmuon::bench
