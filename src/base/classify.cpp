// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/classify.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "trasmuon/error.h"

namespace trasmuon {
namespace {

// The meaning of names. Whole words are compared, so that `multihead` is not taken for a head nor
// `normal` for a norm.
constexpr std::array kWrappers{
    "module", "model", "net", "network", "params", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"};
constexpr std::array kEmbeddingWords{"embed", "embeds", "embedding", "embeddings", "emb", "embedder", "wte", "wpe"};
constexpr std::array kPositionWords{"pos", "position", "positions", "positional"};
constexpr std::array kNormWords{"ln", "bn", "gn", "norms", "normalization"};
constexpr std::array kHeads{"lm_head", "shared_head", "unembed", "embed_out"};
constexpr std::array kHeadsOutsideBlocks{"head_dist",  "output_layer", "output_projection",
                                         "qa_outputs", "cls",          "conv_out"};
constexpr std::array kHeadsAtTop{"output", "fc", "score"};

template <std::size_t N>
bool contains(const std::array<const char*, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// One part of a dotted name: `layer_norm1` has the words `layer` and `norm`.
struct Component {
  std::string text;  // lower case
  std::vector<std::string> words;

  bool numbered() const { return is_digit(text.back()); }
  bool has(auto&& test) const { return std::any_of(words.begin(), words.end(), test); }
  bool ends_with(std::string_view word) const { return !words.empty() && words.back() == word; }
};

Component make_component(std::string_view text) {
  Component component;
  for (char c : text) component.text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string word;
  for (char c : component.text + '_') {
    if (c != '_') {
      word += c;
      continue;
    }
    while (!word.empty() && is_digit(word.back())) word.pop_back();
    if (!word.empty()) component.words.push_back(std::exchange(word, {}));
  }
  return component;
}

/// Splits at '.' and '/' and drops the wrappers of training frameworks.
std::vector<Component> split(std::string_view name) {
  std::vector<Component> path;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("./"), name.size());
    const std::string_view part = name.substr(0, end);
    if (!part.empty() && !contains(kWrappers, part)) path.push_back(make_component(part));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return path;
}

bool is_embedding_word(const std::string& word) { return contains(kEmbeddingWords, word); }
bool is_norm_word(const std::string& word) { return word.ends_with("norm") || contains(kNormWords, word); }

bool is_bias(const std::vector<Component>& path) {
  if (path.empty()) return false;
  const Component& leaf = path.back();
  // The module's name counts too, for T5's relative_attention_bias.weight.
  return leaf.has([](const std::string& word) { return word == "bias"; }) ||
         (path.size() > 1 && path[path.size() - 2].ends_with("bias"));
}

/// Only the module that owns the parameter counts: norm1.linear.weight is a matrix.
bool is_norm(const std::vector<Component>& path) {
  const std::size_t first = path.size() < 2 ? 0 : path.size() - 2;
  return std::any_of(path.begin() + static_cast<std::ptrdiff_t>(first), path.end(),
                     [](const Component& c) { return c.has(is_norm_word); });
}

bool is_embedding(const std::vector<Component>& path) {
  bool in_block = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    // Inside a block only a module that is itself an embedding, not a layer that uses one.
    const bool owner = i + 2 >= path.size();
    if ((!in_block || owner) && path[i].has(is_embedding_word)) return true;
    in_block |= path[i].numbered();
  }
  if (path.size() == 2 && path[0].text == "shared") return true;  // T5, BART
  return !path.empty() && (path.back().ends_with("token") || path.back().ends_with("tokens"));
}

/// A table of positions is a parameter of that name, not a layer's weight: pos_proj.weight is a matrix.
bool is_position_table(const std::vector<Component>& path) {
  return !path.empty() && path.back().has([](const std::string& word) { return contains(kPositionWords, word); });
}

bool is_head(const std::vector<Component>& path) {
  bool in_block = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Component& c = path[i];
    if (contains(kHeads, c.text)) return true;
    // In a block, `head` and similar names belong to attention.
    if (!in_block && (c.ends_with("head") || c.ends_with("classifier") || contains(kHeadsOutsideBlocks, c.text)))
      return true;
    if (i == 0 && (c.text == "heads" || (path.size() <= 2 && contains(kHeadsAtTop, c.text)))) return true;
    in_block |= c.numbered();
  }
  return false;
}

/// The first convolution, which reads the pixels.
bool is_input_convolution(const std::vector<Component>& path, const Shape& shape) {
  constexpr std::int64_t kMostImageChannels = 4;
  if (shape.rank() < 4 || shape[1] > kMostImageChannels) return false;
  // Depthwise convolutions have few input channels as well, but are in numbered blocks.
  const std::size_t before_owner = path.size() < 2 ? 0 : path.size() - 2;
  return std::none_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(before_owner),
                      [](const Component& c) { return c.numbered(); });
}

/// Returns whether the matrices of the default layout have a side of 1.
bool has_side_of_one(const Shape& shape) {
  if (shape.rank() == 3) return shape[1] == 1 || shape[2] == 1;
  return shape[0] == 1 || shape.elements() == shape[0];
}

std::pair<Family, const char*> judge(const NamedShape& parameter) {
  const std::vector<Component> path = split(parameter.name);
  const Shape& shape = parameter.shape;
  if (is_bias(path)) return {Family::adamw, "bias"};
  if (is_norm(path)) return {Family::adamw, "norm"};
  if (shape.rank() < 2) return {Family::adamw, shape.rank() == 0 ? "scalar" : "vector"};
  if (is_head(path)) return {Family::adamw, "output head"};
  if (is_embedding(path)) return {Family::adamw, "embedding"};
  if (is_position_table(path)) return {Family::adamw, "positions"};
  if (!path.empty() && path.back().text == "a_log") return {Family::adamw, "state-space decay"};  // Mamba
  if (has_side_of_one(shape)) return {Family::adamw, "side of 1"};
  if (is_input_convolution(path, shape)) return {Family::adamw, "input convolution"};
  if (shape.rank() == 2) return {Family::matrix, "hidden matrix"};
  return {Family::matrix, shape.rank() == 3 ? "hidden matrices" : "hidden convolution"};
}

std::pair<Family, const char*> judge_as_released(const Shape& shape) {
  if (shape.rank() == 2) return {Family::matrix, "two dimensions"};
  return {Family::adamw, "not two dimensions"};
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::optional<std::size_t> star;  // the last '*' so far; run_end: where the text it matches ends
  std::size_t run_end = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      run_end = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star) {
      p = *star + 1;
      t = ++run_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

void check(std::span<const NamedShape> parameters) {
  if (parameters.empty()) throw Error("classify: parameters must not be empty");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, shape] = parameters[i];
    if (name.empty()) throw Error("classify: parameter " + std::to_string(i) + ": name must not be empty");
    if (!names.insert(name).second) throw Error("parameter '" + name + "': listed twice");
    if (shape.elements() == 0)
      throw Error("parameter '" + name + "': must not be empty, got shape " + to_string(shape));
  }
}

void apply(const FamilyOverride& change, std::vector<Classified>& table) {
  bool found = false;
  for (Classified& row : table) {
    if (!matches(change.pattern, row.name)) continue;
    found = true;
    row.family = change.family;
    row.reason = "override " + change.pattern;
  }
  if (!found) throw Error("override '" + change.pattern + "': must match a parameter; patterns match whole names");
}

}  // namespace

Routing routing_for(std::string_view preset) {
  if (preset == "default") return Routing::standard;
  if (preset == "released") return Routing::released;
  throw Error("classify: preset must be one of default, released, got '" + std::string(preset) + "'");
}

std::vector<Classified> classify(std::span<const NamedShape> parameters, std::span<const FamilyOverride> overrides,
                                 Routing routing) {
  check(parameters);
  std::vector<Classified> table;
  for (const NamedShape& parameter : parameters) {
    const auto [family, reason] = routing == Routing::released ? judge_as_released(parameter.shape) : judge(parameter);
    table.push_back({parameter.name, parameter.shape, family, reason});
  }
  for (const FamilyOverride& change : overrides) apply(change, table);

  bool any_matrix = false;
  for (const Classified& row : table) {
    if (row.family != Family::matrix) continue;
    any_matrix = true;
    if (row.shape.rank() < 2) {
      throw Error("parameter '" + row.name + "': " + row.reason +
                  " sends it to the matrix rule, which needs at least two dimensions, got shape " +
                  to_string(row.shape));
    }
  }
  if (!any_matrix) {
    throw Error(
        "classify: none of the " + std::to_string(table.size()) +
        " parameters is left for the matrix rule; send hidden weights to it with an override, or use adamw alone");
  }
  return table;
}

std::string to_string(std::span<const Classified> table) {
  struct Total {
    std::size_t parameters = 0;
    std::int64_t elements = 0;
  };
  const std::array<const char*, 2> families{"matrix", "adamw"};
  std::array<Total, 2> totals;
  std::vector<std::array<std::string, 5>> rows{{"parameter", "shape", "elements", "family", "reason"}};
  for (const Classified& row : table) {
    const auto family = static_cast<std::size_t>(row.family);
    totals[family].parameters += 1;
    if (__builtin_add_overflow(totals[family].elements, row.shape.elements(), &totals[family].elements)) {
      throw Error("classify: the number of elements of all parameters must fit 64 bits");
    }
    rows.push_back(
        {row.name, to_string(row.shape), std::to_string(row.shape.elements()), families[family], row.reason});
  }
  for (std::size_t f = 0; f < families.size(); ++f) {
    const std::size_t count = totals[f].parameters;
    rows.push_back({"total", std::to_string(count) + (count == 1 ? " parameter" : " parameters"),
                    std::to_string(totals[f].elements), families[f], ""});
  }

  std::array<std::size_t, 5> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      constexpr std::size_t kElements = 2;  // numbers are right-aligned
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i == kElements ? padding + row[i] : row[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace trasmuon
