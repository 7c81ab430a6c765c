// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "lab/records/checksum.h"
#include "lab/records/json.h"

// A run that takes long leaves a checkpoint in its folder and continues from it after a crash. The file has a line with
// the format, a line of JSON (the head), bytes that belong to the study, and a checksum of all this. The runner reads
// two fields of the head: "run", the run's id, and "tables", RunLog::tables() at that moment.
namespace trasmuon::lab {

std::filesystem::path checkpoint_file(const std::filesystem::path& run_folder);

/// Writes a checkpoint piece by piece. The file is the complete old or the complete new one at any moment, also when
/// the process is killed or the machine stops. Throws WriteError.
class CheckpointWriter {
 public:
  CheckpointWriter(std::filesystem::path file, const Json& head);
  ~CheckpointWriter();  ///< without commit(): the file stays as it was
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  void add(const void* data, std::size_t bytes);
  void commit();

 private:
  void write(std::string_view text);

  std::filesystem::path file_, temporary_;
  int descriptor_;
  std::size_t bytes_ = 0;
  Checksum checksum_;
};

/// Reads a checkpoint. The constructor checks the whole file: Error with file and reason if it is damaged.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& file);

  const Json& head() const { return head_; }
  void read(void* data, std::size_t bytes);  ///< the next bytes; throws Error if there are fewer

 private:
  std::filesystem::path file_;
  std::ifstream stream_;
  std::uintmax_t left_ = 0;  // of the study's bytes
  Json head_;
};

/// Returns whether the unfinished run in this folder can continue from a checkpoint; false if there is none. Throws
/// Error with file and reason if the checkpoint, the manifest or a table is damaged or of another run.
bool can_continue(const std::filesystem::path& run_folder);

}  // namespace trasmuon::lab
