// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace trasmuon::lab {

/// Held while a program or a run it started writes into the folder; the system lets go of it however they end.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);  ///< throws Error when another program holds it
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

}  // namespace trasmuon::lab
