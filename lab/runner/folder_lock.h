// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace trasmuon::lab {

/// Held while a program or a run it started writes into the folder; the system lets go of it however they end.
class FolderLock {
 public:
  enum class IfHeld { refuse, wait };

  /// Creates the folder if need be. Throws Error when another program holds the lock, or waits for it.
  explicit FolderLock(const std::filesystem::path& folder, const std::string& name = ".lock",
                      IfHeld if_held = IfHeld::refuse);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

}  // namespace trasmuon::lab
