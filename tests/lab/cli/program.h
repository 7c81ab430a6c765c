// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/temporary_directory.h"

namespace trasmuon::lab {

struct Ended {
  int code = 0;  ///< exit code, or minus the signal
  std::string out, error;
};

/// The program `trasmuon`, running in a folder of its own.
class Program {
 public:
  Program(const std::string& folder, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment = {});  ///< "NAME=value"
  Ended wait();
  pid_t process() const { return process_; }

 private:
  std::string folder_;
  pid_t process_;
};

Ended run_program(const std::string& folder, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment = {});

}  // namespace trasmuon::lab
