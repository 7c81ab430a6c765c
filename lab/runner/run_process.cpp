// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/run_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "lab/records/checkpoint.h"
#include "lab/records/files.h"
#include "lab/records/machine.h"
#include "lab/records/run_record.h"
#include "lab/runner/execute.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

enum Exit { kFinished = 0, kFailed = 1, kCannotWrite = 74 };

/// The parent handles signals. It ends its children, and they end if it dies.
void reset_signals(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailed);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C reaches the whole group
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void redirect_output(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (descriptor < 0) return;
  ::dup2(descriptor, STDOUT_FILENO);
  ::dup2(descriptor, STDERR_FILENO);
  ::close(descriptor);
}

void fail(const char* message, RunReport& report) {
  std::fprintf(stderr, "%s\n", message);
  std::snprintf(report.message, sizeof report.message, "%s", message);
}

int run_here(const RunSpec& spec, const fs::path& folder, RunReport& report) {
  try {
    use_threads(std::min(find_study(spec.study).cores(spec.settings), usable_cores()));
    execute(spec, folder, [&](double fraction) { report.fraction.store(fraction, std::memory_order_relaxed); });
    return kFinished;
  } catch (const WriteError& error) {
    fail(error.what(), report);
    return kCannotWrite;
  } catch (const std::exception& error) {
    fail(error.what(), report);
  } catch (...) {
    fail("unknown exception", report);
  }
  return kFailed;
}

std::string last_line(const fs::path& file) {
  try {
    std::string text = read_text(file);
    text.erase(text.find_last_not_of(" \n") + 1);
    return text.substr(text.rfind('\n') + 1);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

pid_t start_run(const RunSpec& spec, const fs::path& folder, RunReport& report) {
  std::error_code error;
  if (!fs::exists(checkpoint_file(folder))) fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  if (error) throw WriteError(folder, error.value());
  report.fraction = 0;
  report.message[0] = 0;
  std::fflush(nullptr);  // or the child would write buffered output again
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child > 0) return child;

  reset_signals(parent);
  const fs::path output = folder / "stderr.txt";
  redirect_output(output);
  const int code = run_here(spec, folder, report);
  std::fflush(nullptr);
  if (code == kFinished && fs::file_size(output, error) == 0) fs::remove(output, error);
  ::_exit(code);  // without the destructors of what belongs to the parent
}

RunEnd end_of_run(int status, const RunReport& report, const fs::path& folder) {
  RunEnd end;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFinished) {
    try {
      end.finished = read_record(folder).has_value();
    } catch (const Error& error) {
      end.message = error.what();
    }
    if (end.finished) return end;
  }
  end.cannot_write = WIFEXITED(status) && WEXITSTATUS(status) == kCannotWrite;
  if (end.message.empty()) end.message = report.message;
  if (end.message.empty()) end.message = last_line(folder / "stderr.txt");
  if (WIFSIGNALED(status)) {
    const std::string reason = std::string("killed by signal ") + std::to_string(WTERMSIG(status)) + " (" +
                               ::strsignal(WTERMSIG(status)) + ")";
    end.message = end.message.empty() ? reason : reason + ": " + end.message;
  }
  if (end.message.empty()) end.message = "exited without a message, exit code " + std::to_string(WEXITSTATUS(status));
  return end;
}

}  // namespace trasmuon::lab
