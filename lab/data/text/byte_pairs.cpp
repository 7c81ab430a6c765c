// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/byte_pairs.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <array>
#include <optional>
#include <queue>

#include "lab/data/text/unicode.h"
#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// GPT-2's letters for bytes: printable ones are themselves, the others follow from U+0100 on.
std::array<char32_t, 256> letters_of_bytes() {
  std::array<char32_t, 256> letters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    letters[byte] = printable ? byte : next++;
  }
  return letters;
}

/// The bytes that a token's letters stand for; nothing if a letter stands for none, as in "<|end|> of text".
std::optional<std::string> bytes_of_letters(std::string_view letters) {
  static const auto kBytes = [] {
    std::unordered_map<char32_t, char> bytes;
    const auto all = letters_of_bytes();
    for (std::size_t byte = 0; byte < all.size(); ++byte) bytes[all[byte]] = static_cast<char>(byte);
    return bytes;
  }();
  if (valid_utf8_prefix(letters) != letters.size()) return {};
  std::string bytes;
  for (std::size_t at = 0; at < letters.size();) {
    const Character character = character_at(letters, at);
    const auto found = kBytes.find(character.code);
    if (found == kBytes.end()) return {};
    bytes += found->second;
    at += character.bytes;
  }
  return bytes;
}

}  // namespace

BytePairs::BytePairs(const fs::path& vocabulary, const fs::path& merges) {
  read_vocabulary(vocabulary);
  read_merges(merges);
}

std::int64_t BytePairs::find(std::string_view bytes) const {
  const auto found = tokens_.find(std::string(bytes));
  return found == tokens_.end() ? -1 : std::int64_t{found->second};
}

void BytePairs::read_vocabulary(const fs::path& file) {
  const auto refuse = [&](const std::string& reason) { throw Error(file.string() + ": " + reason); };
  const Json json = read_json(file);
  if (!json.is_object() || json.empty()) refuse("a vocabulary must be a JSON object of tokens and their numbers");
  bytes_.resize(json.size());
  std::vector<bool> seen(json.size());
  for (const auto& [letters, number] : json.items()) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= json.size()) {
      refuse(fmt::format("the numbers of {} tokens must be 0 to {}, that of '{}' is {}", json.size(), json.size() - 1,
                         letters, number.dump()));
    }
    const auto token = number.get<std::uint32_t>();
    if (seen[token]) refuse(fmt::format("two tokens have the number {}; one is '{}'", token, letters));
    seen[token] = true;
    auto bytes = bytes_of_letters(letters);
    if (!bytes || bytes->empty())
      refuse(fmt::format("the token '{}' is not written in the letters for bytes", letters));
    tokens_[*bytes] = token;
    bytes_[token] = std::move(*bytes);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const std::int64_t token = find(std::string(1, static_cast<char>(byte)));
    if (token < 0) refuse(fmt::format("there is no token for byte 0x{:02x}", byte));
    token_of_byte_[byte] = static_cast<std::uint32_t>(token);
  }
}

void BytePairs::read_merges(const fs::path& file) {
  const std::string text = read_text(file);
  std::uint32_t rank = 0;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const auto refuse = [&](const std::string& reason) {
      throw Error(fmt::format("{}:{}: {}", file.string(), line_number, reason));
    };
    const std::size_t gap = line.find(' ');
    if (gap == std::string_view::npos || line.find(' ', gap + 1) != std::string_view::npos) {
      refuse(fmt::format("a merge must be two tokens with a space between, got '{}'", line));
    }
    const auto token_of = [&](std::string_view letters) {
      const auto bytes = bytes_of_letters(letters);
      const std::int64_t token = bytes ? find(*bytes) : -1;
      if (token < 0) refuse(fmt::format("'{}' is no token of the vocabulary", letters));
      return static_cast<std::uint32_t>(token);
    };
    const std::string_view left = line.substr(0, gap), right = line.substr(gap + 1);
    const std::uint64_t key = pair(token_of(left), token_of(right));
    const std::uint32_t both = token_of(std::string(left).append(right));
    if (!merges_.emplace(key, Merge{rank++, both}).second) refuse(fmt::format("the merge '{}' appears twice", line));
  }
  if (merges_.empty()) throw Error(file.string() + ": there is no merge in it");
}

void BytePairs::encode_word(std::string_view word, std::vector<std::uint32_t>& out) const {
  // The symbols are a list linked by indices. A joined pair stays at its left one; its right one becomes empty.
  constexpr std::uint32_t kNone = UINT32_MAX;
  struct Symbol {
    std::uint32_t token, previous, next;
  };
  struct Candidate {
    std::uint32_t rank, at, left, right, token;  // left, right: what the symbols must still be
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  const auto count = static_cast<std::uint32_t>(word.size());
  std::vector<Symbol> symbols(word.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols[i] = {token_of_byte_[static_cast<std::uint8_t>(word[i])], i == 0 ? kNone : i - 1,
                  i + 1 == count ? kNone : i + 1};
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::uint32_t at) {
    if (at == kNone || symbols[at].next == kNone) return;
    const std::uint32_t left = symbols[at].token, right = symbols[symbols[at].next].token;
    const auto found = merges_.find(pair(left, right));
    if (found != merges_.end()) candidates.push({found->second.rank, at, left, right, found->second.token});
  };
  for (std::uint32_t i = 0; i < count; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate candidate = candidates.top();
    candidates.pop();
    Symbol& left = symbols[candidate.at];
    if (left.token != candidate.left || left.next == kNone || symbols[left.next].token != candidate.right) continue;
    Symbol& right = symbols[left.next];
    left.token = candidate.token;
    left.next = right.next;
    right.token = kNone;
    if (left.next != kNone) symbols[left.next].previous = candidate.at;
    consider(left.previous);
    consider(candidate.at);
  }
  for (std::uint32_t i = 0; i != kNone && count != 0; i = symbols[i].next) out.push_back(symbols[i].token);
}

}  // namespace trasmuon::lab
