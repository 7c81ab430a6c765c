// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/default_text.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>

#include "lab/data/sample_order.h"
#include "lab/data/text/pod.h"
#include "lab/data/text/tokenizer.h"
#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// Contents, tables of characters and programming interfaces; pages in Chinese, Japanese and Korean; a copy of another.
bool is_left_out(const std::string& page) {
  constexpr const char* kLeftOut[] = {"perlapi", "perlcn",  "perldelta", "perlintern",  "perljp",
                                      "perlko",  "perltoc", "perltw",    "perluniprops"};
  return std::find(std::begin(kLeftOut), std::end(kLeftOut), page) != std::end(kLeftOut);
}

}  // namespace

fs::path default_text_folder(const fs::path& place) {
  // Other packages put single pages there too; perlintro is one of perl-doc's.
  std::error_code error;
  fs::path found;
  for (fs::directory_iterator version(place, error), end; !error && version != end; version.increment(error)) {
    const fs::path folder = version->path() / "pod";
    std::error_code missing;
    if (!version->is_symlink(missing) && fs::exists(folder / "perlintro.pod", missing)) found = std::max(found, folder);
  }
  return found;
}

std::vector<std::string> default_text(const fs::path& place) {
  const fs::path folder = default_text_folder(place);
  if (folder.empty()) {
    throw Error(fmt::format("the default text is not in {}; on Debian `apt-get install {}` puts it there",
                            place.string(), kDefaultTextPackage));
  }
  std::vector<fs::path> pages;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".pod" && !is_left_out(entry.path().stem().string())) pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  std::vector<std::string> documents;
  for (const fs::path& page : pages) documents.push_back(prose_of_pod(read_text(page)));
  return documents;
}

TokenStream default_token_stream(const std::string& split, const fs::path& place) {
  if (split != "train" && split != "val") throw Error(fmt::format("the split must be train or val, got {}", split));
  const std::vector<std::string> documents = default_text(place);
  const auto count = static_cast<std::int64_t>(documents.size());
  const SampleOrder order(0, count);
  std::vector<bool> is_val(documents.size());
  for (std::int64_t i = 0; i < count / 20; ++i) is_val[static_cast<std::size_t>(order[i])] = true;
  const auto tokenizer = make_tokenizer("bytes");
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (is_val[i] != (split == "val")) continue;
    tokens.push_back(tokenizer->end_of_text());
    tokenizer->encode(documents[i], tokens);
  }
  return TokenStream(std::vector<std::uint16_t>(tokens.begin(), tokens.end()));
}

}  // namespace trasmuon::lab
