// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/prepare.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "lab/data/mapped_file.h"
#include "lab/data/sample_order.h"
#include "lab/data/text/documents.h"
#include "lab/data/text/tokenizer.h"
#include "lab/data/text/unicode.h"
#include "lab/data/tokens/token_file.h"
#include "lab/data/tokens/token_writer.h"
#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;
using Documents = std::vector<std::string_view>;

/// Text files, mapped as long as this lives.
class Texts {
 public:
  Texts(const std::vector<fs::path>& paths, bool any_bytes) {
    for (const fs::path& path : paths) {
      const auto bytes = files_.emplace_back(std::make_unique<MappedFile>(path))->bytes();
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (const std::size_t valid = any_bytes ? text.size() : valid_utf8_prefix(text); valid != text.size()) {
        throw Error(
            fmt::format("{}: byte {} is not valid UTF-8, which this tokenizer needs; the tokenizer bytes does not",
                        path.string(), valid));
      }
      const Documents documents = documents_of(text);
      if (documents.empty()) throw Error(path.string() + ": there is no text in it");
      documents_.insert(documents_.end(), documents.begin(), documents.end());
    }
  }
  const Documents& documents() const { return documents_; }

 private:
  std::vector<std::unique_ptr<MappedFile>> files_;
  Documents documents_;
};

std::int64_t bytes_of(const Documents& documents) {
  std::int64_t bytes = 0;
  for (const std::string_view document : documents) bytes += static_cast<std::int64_t>(document.size());
  return bytes;
}

/// Moves a share of the documents, chosen at random, from `train` to `val`.
void split_documents(Documents& train, std::int64_t val_count, Documents& val) {
  const auto count = static_cast<std::int64_t>(train.size());
  const SampleOrder order(0, count);
  std::vector<bool> chosen(train.size());
  for (std::int64_t i = 0; i < val_count; ++i) chosen[static_cast<std::size_t>(order[i])] = true;
  Documents rest;
  for (std::size_t i = 0; i < train.size(); ++i) (chosen[i] ? val : rest).push_back(train[i]);
  train = std::move(rest);
}

/// Moves the end of the text, from a line on, from `train` to `val`: at most `share` of all bytes.
void split_end(Documents& train, double share, Documents& val) {
  const auto bytes = static_cast<double>(train.back().size());
  const double wanted = share * static_cast<double>(bytes_of(train));
  const std::size_t cut = cut_behind(train.back(), static_cast<std::size_t>(std::max(0.0, bytes - wanted)));
  if (cut == train.back().size()) {
    throw Error(
        fmt::format("val_share {} of the text is less than a line and less than a document; a larger share, or a "
                    "file of its own for validation (--val), is needed",
                    share));
  }
  val.push_back(train.back().substr(cut));
  train.back() = train.back().substr(0, cut);
}

/// A folder beside `out` that becomes `out`, or is removed.
class NewFolder {
 public:
  explicit NewFolder(fs::path out) : out_(std::move(out)) {
    if (!out_.has_filename()) out_ = out_.parent_path();  // "tokens/"
    std::error_code error;
    if (fs::exists(fs::symlink_status(out_, error)) && !(fs::is_directory(out_, error) && fs::is_empty(out_, error))) {
      throw Error(fmt::format("{} exists already; choose another --out, or remove it", out_.string()));
    }
    if (out_.has_parent_path()) fs::create_directories(out_.parent_path(), error);
    std::string name = out_.string() + ".partial-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw WriteError(name, errno);
    folder_ = name;
    fs::permissions(folder_,
                    fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec,
                    fs::perm_options::add, error);  // mkdtemp's folders are private
  }
  ~NewFolder() {
    std::error_code error;
    if (!folder_.empty()) fs::remove_all(folder_, error);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const fs::path& path() const { return folder_; }
  void keep() {
    std::error_code error;
    fs::rename(folder_, out_, error);  // replaces an empty folder, but none with files
    if (error) throw WriteError(out_, error.value());
    folder_.clear();
  }

 private:
  fs::path out_, folder_;
};

Json to_json(const PreparedTokens& tokens) {
  return {{"documents", tokens.documents}, {"tokens", tokens.tokens}, {"files", tokens.files}};
}

void check(const PrepareOptions& options) {
  if (options.inputs.empty()) throw Error("there is no text file to prepare");
  if (!(options.val_share >= 0 && options.val_share < 1)) {
    throw Error(fmt::format("val_share must be in [0, 1), got {}", options.val_share));
  }
  if (options.shard_tokens < 1 || options.shard_tokens > kMostTokensPerFile) {
    throw Error(fmt::format("shard_tokens must be in [1, {}], got {}", kMostTokensPerFile, options.shard_tokens));
  }
}

/// Turns documents into token files and keeps account of it.
class Preparation {
 public:
  using ReportProgress = std::function<bool(const PrepareProgress&)>;

  Preparation(Tokenizer& tokenizer, const fs::path& folder, std::int64_t shard_tokens, std::int64_t bytes,
              const ReportProgress& report)
      : tokenizer_(tokenizer), folder_(folder), shard_tokens_(shard_tokens), report_(report) {
    progress_.bytes = bytes;
  }

  /// Writes NAME_*.bin; returns false if it was stopped.
  bool write(const Documents& documents, const char* name, PreparedTokens& done) {
    TokenWriter writer(folder_, name, shard_tokens_, token_bytes(tokenizer_.vocabulary()));
    for (const std::string_view document : documents) {
      tokens_.assign(1, tokenizer_.end_of_text());
      if (!write_document(document, writer)) return false;
      ++done.documents;
    }
    writer.finish();
    done.tokens = writer.tokens();
    done.files = writer.files();
    return report_(progress_);
  }

 private:
  bool write_document(std::string_view document, TokenWriter& writer) {
    constexpr std::size_t kPart = 1 << 20;  // bounds the memory and the time between reports
    while (!document.empty()) {
      const std::size_t part = document.size() > kPart ? cut_behind(document, kPart) : document.size();
      tokenizer_.encode(document.substr(0, part), tokens_);
      document.remove_prefix(part);
      writer.add(tokens_);
      progress_.bytes_done += static_cast<std::int64_t>(part);
      progress_.tokens += static_cast<std::int64_t>(tokens_.size());
      tokens_.clear();
      unreported_ += part;
      if (unreported_ < kPart) continue;
      unreported_ = 0;
      if (!report_(progress_)) return false;
    }
    return true;
  }

  Tokenizer& tokenizer_;
  const fs::path& folder_;
  std::int64_t shard_tokens_;
  const ReportProgress& report_;
  PrepareProgress progress_;
  std::size_t unreported_ = 0;  // bytes
  std::vector<std::uint32_t> tokens_;
};

}  // namespace

PrepareResult prepare_tokens(const PrepareOptions& options,
                             const std::function<bool(const PrepareProgress&)>& progress) {
  check(options);
  NewFolder folder(options.out);
  const auto tokenizer = make_tokenizer(options.tokenizer, options.tokenizer_files);
  const Texts texts(options.inputs, tokenizer->takes_any_bytes());
  Documents train = texts.documents(), val;
  std::optional<Texts> val_texts;
  if (!options.val.empty()) {
    val_texts.emplace(std::vector{options.val}, tokenizer->takes_any_bytes());
    val = val_texts->documents();
  } else if (options.val_share > 0) {
    const auto val_count = static_cast<std::int64_t>(options.val_share * static_cast<double>(train.size()));
    if (val_count >= 1) split_documents(train, val_count, val);
    else split_end(train, options.val_share, val);
  }

  PrepareResult result{.vocabulary = tokenizer->vocabulary()};
  Preparation preparation(*tokenizer, folder.path(), options.shard_tokens, bytes_of(train) + bytes_of(val), progress);
  if (!preparation.write(train, "train", result.train) || !preparation.write(val, "val", result.val)) {
    result.stopped = true;
    return result;
  }
  const Json description = {{"tokenizer", options.tokenizer},
                            {"vocabulary", result.vocabulary},
                            {"end_of_text", tokenizer->end_of_text()},
                            {"train", to_json(result.train)},
                            {"val", to_json(result.val)}};
  write_atomically(folder.path() / "tokens.json", description.dump(2) + "\n");
  folder.keep();
  return result;
}

}  // namespace trasmuon::lab
