// SPDX-License-Identifier: Apache-2.0
#include "lab/records/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "trasmuon checkpoint 1\n";
constexpr std::size_t kMostHead = 1 << 26;

/// Without this a rename can be lost when the machine stops.
void sync_folder(const fs::path& file) {
  const int folder = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

/// Throws Error unless the file ends with the checksum of all that comes before it.
void check_whole(std::ifstream& stream, std::uintmax_t size, const fs::path& file) {
  Checksum sum;
  std::vector<char> piece(1 << 20);
  for (std::uintmax_t left = size - Checksum::kDigits; left > 0;) {
    const std::uintmax_t bytes = std::min<std::uintmax_t>(left, piece.size());
    stream.read(piece.data(), static_cast<std::streamsize>(bytes));
    if (!stream) throw Error(file.string() + ": cannot be read");
    sum.add({piece.data(), bytes});
    left -= bytes;
  }
  char end[Checksum::kDigits];
  stream.read(end, sizeof end);
  if (!stream || sum.text() != std::string_view(end, sizeof end))
    throw Error(file.string() + ": is cut off or was changed, the checksum does not fit");
}

/// The field of the head, or of a record; wrong types are damage.
template <class Read>
auto checked(const fs::path& file, Read read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error(file.string() + ": a field is missing or wrong: " + error.what());
  }
}

}  // namespace

fs::path checkpoint_file(const fs::path& run_folder) { return run_folder / "checkpoint"; }

CheckpointWriter::CheckpointWriter(fs::path file, const Json& head)
    : file_(std::move(file)),
      temporary_(file_.string() + ".tmp"),
      descriptor_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw WriteError(file_, errno);
  write(kFormat);
  write(head.dump() + "\n");
}

CheckpointWriter::~CheckpointWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void CheckpointWriter::add(const void* data, std::size_t bytes) { write({static_cast<const char*>(data), bytes}); }

void CheckpointWriter::write(std::string_view text) {
  bytes_ += text.size();
  checksum_.add(text);
  const int reason = write_all(descriptor_, text);
  if (reason != 0) throw WriteError(file_, reason, bytes_);
}

void CheckpointWriter::commit() {
  write(checksum_.text());
  if (::fsync(descriptor_) != 0) throw WriteError(file_, errno, bytes_);
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (closed && ::rename(temporary_.c_str(), file_.c_str()) == 0) return sync_folder(file_);
  const int reason = errno;
  ::unlink(temporary_.c_str());
  throw WriteError(file_, reason, bytes_);
}

CheckpointReader::CheckpointReader(const fs::path& file) : file_(file), stream_(file, std::ios::binary) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (!stream_ || error) throw Error("cannot read " + file.string());
  if (size < kFormat.size() + Checksum::kDigits)
    throw Error(file.string() + ": is no checkpoint, it has too few bytes");
  check_whole(stream_, size, file);

  stream_.seekg(0);
  std::string format(kFormat.size(), '\0'), head;
  stream_.read(format.data(), static_cast<std::streamsize>(format.size()));
  if (format != kFormat) throw Error(file.string() + ": is no checkpoint of this version");
  std::getline(stream_, head);
  const std::uintmax_t before = kFormat.size() + head.size() + 1 + Checksum::kDigits;
  if (!stream_ || head.size() > kMostHead || before > size) throw Error(file.string() + ": its head does not end");
  left_ = size - before;
  head_ = checked(file, [&] { return Json::parse(head); });
}

void CheckpointReader::read(void* data, std::size_t bytes) {
  if (bytes > left_)
    throw Error(file_.string() + ": must have " + std::to_string(bytes) + " more bytes, got " + std::to_string(left_));
  stream_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
  if (!stream_) throw Error(file_.string() + ": cannot be read");
  left_ -= bytes;
}

bool can_continue(const fs::path& run_folder) {
  const fs::path file = checkpoint_file(run_folder);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return false;
  const CheckpointReader reader(file);
  const fs::path manifest = run_folder / "manifest.json";
  read_json(manifest);
  checked(file, [&] {
    const auto run = reader.head().at("run").get<std::string>();
    if (run != run_folder.filename()) throw Error(file.string() + ": is of another run, " + run);
    for (const auto& [name, written] : reader.head().at("tables").items()) {
      const fs::path table = run_folder / (name + ".csv");
      const std::string text = read_text(table);
      const auto bytes = written.at("bytes").get<std::size_t>();
      if (text.size() < bytes || checksum(std::string_view(text).substr(0, bytes)) != written.at("checksum"))
        throw Error(table.string() + ": does not begin as it was at the checkpoint");
    }
    return true;
  });
  return true;
}

}  // namespace trasmuon::lab
