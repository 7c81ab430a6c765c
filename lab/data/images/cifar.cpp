// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/cifar.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <string>
#include <vector>

#include "lab/data/mapped_file.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPixels = 3 * 32 * 32;

struct Files {
  std::string folder;
  std::vector<std::string> names;
  std::int64_t records;  // of each
};

Files files_of(const CifarFormat& format, Split split) {
  const bool train = split == Split::train;
  if (format.label_bytes == 2) return {"cifar-100-binary", {train ? "train.bin" : "test.bin"}, train ? 50000 : 10000};
  Files files{"cifar-10-batches-bin", {"test_batch.bin"}, 10000};
  if (train) {
    files.names.clear();
    for (int i = 1; i <= 5; ++i) files.names.push_back(fmt::format("data_batch_{}.bin", i));
  }
  return files;
}

}  // namespace

void append_cifar(std::span<const std::uint8_t> file, const fs::path& name, const CifarFormat& format,
                  std::int64_t records, ImageSet& set) {
  const std::int64_t record = format.label_bytes + kPixels, bytes = static_cast<std::int64_t>(file.size());
  const std::int64_t found = bytes / record;
  if (found * record != bytes || found == 0 || (records != 0 && found != records)) {
    const std::string expected =
        records == 0 ? fmt::format("whole records of {} bytes", record)
                     : fmt::format("{} records of {} bytes, {} bytes", records, record, records * record);
    throw Error(
        fmt::format("{}: CIFAR-{} has {}; the file has {} bytes", name.string(), format.classes, expected, bytes));
  }
  set.channels = 3;
  set.height = set.width = 32;
  set.classes = format.classes;
  set.pixels.reserve(set.pixels.size() + static_cast<std::size_t>(found * kPixels));
  for (std::int64_t i = 0; i < found; ++i) {
    const auto at = file.subspan(static_cast<std::size_t>(i * record), static_cast<std::size_t>(record));
    const std::uint8_t label = at[static_cast<std::size_t>(format.label_bytes) - 1];
    if (label >= format.classes) {
      throw Error(fmt::format("{}: labels must be < {}, the label of record {} is {}", name.string(), format.classes, i,
                              label));
    }
    set.labels.push_back(label);
    set.pixels.insert(set.pixels.end(), at.begin() + format.label_bytes, at.end());
  }
}

ImageSet read_cifar(const fs::path& folder, const CifarFormat& format, Split split) {
  const Files files = files_of(format, split);
  std::error_code error;
  const fs::path inner = folder / files.folder;
  const fs::path place = fs::is_directory(inner, error) ? inner : folder;
  ImageSet set;
  for (const std::string& name : files.names) {
    append_cifar(MappedFile(place / name).bytes(), place / name, format, files.records, set);
  }
  return set;
}

}  // namespace trasmuon::lab
