// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/agreement.h"

#include <algorithm>
#include <vector>

#include "trasmuon/option_fields.h"
#include "trasmuon/version.h"

namespace trasmuon {
namespace {

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::automatic: return "automatic";
    case Layout::batch: return "batch";
    case Layout::flatten: return "flatten";
  }
  return "";
}

Shape whole_shape(const Parameter& p) {
  std::vector<std::int64_t> dims(p.weight.shape.dims().begin(), p.weight.shape.dims().end());
  if (p.shard) dims[0] = p.shard->total_rows;
  return Shape(dims);
}

std::string describe(const Parameter& p) {
  std::string text = "'" + p.name + "' " + to_string(p.weight.dtype) + " " + to_string(whole_shape(p)) + " layout " +
                     to_string(p.layout);
  if (p.transposed) text += " transposed";
  if (!p.row_blocks.empty()) {
    text += " row_blocks";
    for (const std::int64_t rows : p.row_blocks) text += " " + std::to_string(rows);
  }
  text += p.device.type == Device::Type::cpu ? " on cpu" : " on cuda";
  if (p.shard) text += " sharded";
  return text;
}

/// Takes the first line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string describe_table(const Optimizer& optimizer) {
  std::string text = "trasmuon " TRASMUON_VERSION "\n";
  for (std::size_t g = 0; g < optimizer.group_count(); ++g) {
    const Options& options = optimizer.options(g);
    const std::string who = "group " + std::to_string(g) + ": ";
    text += who + rule_name(options) + "\n";
    std::visit(
        [&](const auto& o) {
          visit_fields(o, [&](const char* field, const auto&...) {
            text += who + field + " = " + get_field(options, field) + "\n";
          });
        },
        options);
  }
  for (std::size_t i = 0; i < optimizer.parameter_count(); ++i) {
    text += "parameter " + std::to_string(i) + " of group " + std::to_string(optimizer.group_of(i)) + ": " +
            describe(optimizer.parameter(i)) + ", state";
    for (const auto& tensor : optimizer.state(i)) text += " " + tensor.spec.name + ":" + to_string(tensor.spec.dtype);
    text += "\n";
  }
  return text;
}

std::uint64_t fingerprint(std::string_view description) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : description) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string first_difference(std::string_view one, std::string_view other) {
  if (one == other) return "";
  for (std::size_t line = 1;; ++line) {
    const bool ended = one.empty(), other_ended = other.empty();
    const std::string_view a = take_line(one), b = take_line(other);
    if (a == b && ended == other_ended) continue;
    const auto quoted = [](bool end, std::string_view text) {
      return end ? std::string("nothing") : "'" + std::string(text) + "'";
    };
    return "line " + std::to_string(line) + ": " + quoted(ended, a) + " and " + quoted(other_ended, b);
  }
}

}  // namespace trasmuon
