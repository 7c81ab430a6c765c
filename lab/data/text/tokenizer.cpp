// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/tokenizer.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <unordered_map>

#include "lab/data/text/byte_pairs.h"
#include "lab/data/text/unicode.h"
#include "lab/data/text/words.h"
#include "lab/study/names.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

class ByteTokenizer : public Tokenizer {
 public:
  std::int64_t vocabulary() const override { return 257; }
  std::uint32_t end_of_text() const override { return 256; }
  bool takes_any_bytes() const override { return true; }
  void encode(std::string_view text, std::vector<std::uint32_t>& out) override {
    for (const char c : text) out.push_back(static_cast<std::uint8_t>(c));
  }
  void decode(std::uint32_t token, std::string& out) const override {
    if (token < 256) out += static_cast<char>(token);
  }
};

/// The tokens of words seen before; most words of a text are.
class WordCache {
 public:
  const std::vector<std::uint32_t>* find(std::string_view word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? nullptr : &found->second;
  }
  void add(std::string_view word, std::span<const std::uint32_t> tokens) {
    constexpr std::size_t kMostWords = 1 << 18, kMostBytes = 64;  // some 50 MB
    if (word.size() > kMostBytes) return;
    if (words_.size() >= kMostWords) words_.clear();
    words_.emplace(word, std::vector<std::uint32_t>(tokens.begin(), tokens.end()));
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::unordered_map<std::string, std::vector<std::uint32_t>, Hash, std::equal_to<>> words_;
};

class BytePairTokenizer : public Tokenizer {
 public:
  using WordEnd = std::size_t (*)(std::string_view, std::size_t);

  BytePairTokenizer(const fs::path& vocabulary, const fs::path& merges, WordEnd word_end, bool normalize)
      : pairs_(vocabulary, merges), word_end_(word_end), normalize_(normalize) {
    const std::int64_t known = pairs_.find("<|endoftext|>");
    end_of_text_ = static_cast<std::uint32_t>(known < 0 ? pairs_.size() : known);
  }
  std::int64_t vocabulary() const override { return std::max(pairs_.size(), std::int64_t{end_of_text_} + 1); }
  std::uint32_t end_of_text() const override { return end_of_text_; }
  bool takes_any_bytes() const override { return false; }

  void encode(std::string_view text, std::vector<std::uint32_t>& out) override {
    if (const std::size_t valid = valid_utf8_prefix(text); valid != text.size()) {
      throw Error(fmt::format("the text must be valid UTF-8, byte {} is not", valid));
    }
    std::string normal;
    if (normalize_) text = normal = nfc(text);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = word_end_(text, begin);
      encode_word(text.substr(begin, end - begin), out);
      begin = end;
    }
  }
  void decode(std::uint32_t token, std::string& out) const override {
    if (token != end_of_text_) out += pairs_.bytes(token);
  }

 private:
  void encode_word(std::string_view word, std::vector<std::uint32_t>& out) {
    if (const auto* tokens = cache_.find(word)) {
      out.insert(out.end(), tokens->begin(), tokens->end());
      return;
    }
    const std::size_t before = out.size();
    pairs_.encode_word(word, out);
    cache_.add(word, std::span(out).subspan(before));
  }

  BytePairs pairs_;
  WordEnd word_end_;
  bool normalize_;
  std::uint32_t end_of_text_;
  WordCache cache_;
};

/// The one of two files that is there.
fs::path either(const fs::path& folder, const char* name, const char* other) {
  std::error_code error;
  if (fs::exists(folder / name, error)) return folder / name;
  if (fs::exists(folder / other, error)) return folder / other;
  throw Error(fmt::format("the tokenizer's folder {} has neither {} nor {}", folder.string(), name, other));
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name, const fs::path& folder) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  const bool gpt2 = name == "gpt2";
  if (!gpt2 && name != "qwen") {
    throw Error(fmt::format("there is no tokenizer '{}'{}", name, suggestion(name, {"bytes", "gpt2", "qwen"})));
  }
  if (folder.empty()) {
    throw Error(fmt::format("the tokenizer {} needs the folder of its files ({}): --tokenizer-files DIR", name,
                            gpt2 ? "encoder.json and vocab.bpe" : "vocab.json and merges.txt"));
  }
  const fs::path vocabulary = either(folder, "vocab.json", "encoder.json");
  const fs::path merges = either(folder, "merges.txt", "vocab.bpe");
  return std::make_unique<BytePairTokenizer>(vocabulary, merges, gpt2 ? gpt2_word_end : qwen_word_end, !gpt2);
}

}  // namespace trasmuon::lab
