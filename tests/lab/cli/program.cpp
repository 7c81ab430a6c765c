// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace trasmuon::lab {
namespace {

void redirect(int descriptor, const std::string& file) {
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::dup2(opened, descriptor);
}

}  // namespace

Program::Program(const std::string& folder, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment)
    : folder_(folder), process_(::fork()) {
  if (process_ < 0) throw std::runtime_error("cannot fork");
  if (process_ > 0) return;
  redirect(STDOUT_FILENO, folder + "/stdout");
  redirect(STDERR_FILENO, folder + "/stderr");
  if (::chdir(folder.c_str()) != 0) ::_exit(99);
  for (const std::string& variable : environment) ::putenv(::strdup(variable.c_str()));
  std::vector<char*> argv = {::strdup("trasmuon")};
  for (const std::string& argument : arguments) argv.push_back(::strdup(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(TRASMUON_PROGRAM, argv.data());
  ::_exit(98);
}

Ended Program::wait() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = test::read_file(folder_ + "/stdout"),
          .error = test::read_file(folder_ + "/stderr")};
}

Ended run_program(const std::string& folder, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment) {
  return Program(folder, arguments, environment).wait();
}

}  // namespace trasmuon::lab
