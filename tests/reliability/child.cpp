// SPDX-License-Identifier: Apache-2.0
#include "reliability/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

namespace trasmuon::test {
namespace {

constexpr unsigned kSeconds = 30;
constexpr int kWrong = 81, kThrew = 82, kReturned = 83;

std::string end_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGALRM ? "the child hung" : "the child was killed by signal " + std::to_string(signal);
  }
  switch (WEXITSTATUS(status)) {
    case 0: return "";
    case kWrong: return "the child's result was wrong";
    case kThrew: return "the child threw an exception";
    case kReturned: return "the child did not end the process";
    default: return "the child exited with code " + std::to_string(WEXITSTATUS(status));
  }
}

std::string fork_and_wait(const std::function<int()>& body) {
  std::fflush(nullptr);  // or the child would write buffered output again
  const pid_t child = ::fork();
  if (child < 0) return "cannot fork";
  if (child > 0) return end_of(child);
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(kSeconds);
  try {
    ::_exit(body());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in a child: %s\n", error.what());
    ::_exit(kThrew);
  }
}

}  // namespace

std::string run_in_child(const std::function<bool()>& body) {
  return fork_and_wait([&] { return body() ? 0 : kWrong; });
}

std::string end_in_child(const std::function<void()>& body) {
  return fork_and_wait([&] {
    body();
    return kReturned;
  });
}

}  // namespace trasmuon::test
