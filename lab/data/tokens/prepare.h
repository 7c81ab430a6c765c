// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trasmuon::lab {

struct PrepareOptions {
  std::vector<std::filesystem::path> inputs;  ///< text files
  std::filesystem::path out;                  ///< a new or empty folder
  std::string tokenizer = "bytes";            ///< of make_tokenizer()
  std::filesystem::path tokenizer_files;
  std::int64_t shard_tokens = 100'000'000;
  /// Text of its own for validation. If it is empty, `val_share` of the inputs is: documents chosen at random, or,
  /// where the share is less than one document, the end of the text from a line on.
  std::filesystem::path val;
  double val_share = 0.01;  ///< in [0, 1); 0: no validation files
};

struct PrepareProgress {
  std::int64_t bytes_done = 0, bytes = 0, tokens = 0;
};

struct PreparedTokens {
  std::int64_t documents = 0, tokens = 0;
  int files = 0;
};

struct PrepareResult {
  bool stopped = false;  ///< by `progress`; then nothing was written
  std::int64_t vocabulary = 0;
  PreparedTokens train, val;
};

/// Turns text into token files OUT/train_*.bin and OUT/val_*.bin, every document behind an end-of-text token, and
/// describes them in OUT/tokens.json. The folder appears when all is written: after an error or a stop there is none.
/// Throws Error if OUT exists and is not empty, and with file and byte where text must be UTF-8 and is not, before
/// anything is written. `progress` is called about every MiB; false stops.
PrepareResult prepare_tokens(const PrepareOptions& options,
                             const std::function<bool(const PrepareProgress&)>& progress);

}  // namespace trasmuon::lab
