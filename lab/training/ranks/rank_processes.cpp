// SPDX-License-Identifier: Apache-2.0
#include "lab/training/ranks/rank_processes.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace trasmuon::lab {
namespace {

/// In memory that all ranks share: what the first of them says that fails.
struct FirstFailure {
  std::atomic<int> rank{0};  // 0: none yet
  char message[512] = {};
};

std::string rank_text(std::size_t rank) { return "rank " + std::to_string(rank); }

/// The processes of ranks 1, 2, ...; they end with this object.
class OtherRanks {
 public:
  OtherRanks(int ranks, const std::function<void(int)>& work) {
    void* memory = ::mmap(nullptr, sizeof(FirstFailure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(std::string("cannot share memory with other ranks: ") + std::strerror(errno));
    first_failure_ = ::new (memory) FirstFailure;
    std::fflush(nullptr);  // or the others would write buffered output again
    const pid_t parent = ::getpid();
    for (int rank = 1; rank < ranks; ++rank) {
      const pid_t process = ::fork();
      if (process == 0) work_apart(parent, rank, work);
      if (process < 0) {
        start_error_ = std::string("cannot start a process: ") + std::strerror(errno);
        break;
      }
      processes_.push_back(process);
    }
  }
  OtherRanks(const OtherRanks&) = delete;
  ~OtherRanks() {
    for (const pid_t process : processes_) {
      if (process == kEnded) continue;
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
    ::munmap(first_failure_, sizeof(FirstFailure));
  }

  const std::string& start_error() const { return start_error_; }

  /// Waits until all have ended, and says which one failed and why.
  std::optional<std::string> wait() { return failure(0); }

  /// The same of those that end within a second: a process that dies closes its connections a moment before it ends.
  std::optional<std::string> failure_within_a_second() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (;;) {
      if (auto text = failure(WNOHANG)) return text;
      if (std::chrono::steady_clock::now() > end) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  static constexpr pid_t kEnded = 0;

  [[noreturn]] void work_apart(pid_t parent, int rank, const std::function<void(int)>& work) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    int code = 1;
    try {
      work(rank);
      code = 0;
    } catch (const LostRank&) {  // the rank that was lost says why
    } catch (const std::exception& error) {
      report(rank, error.what());
    } catch (...) {
      report(rank, "unknown exception");
    }
    std::fflush(nullptr);
    ::_exit(code);  // without the destructors of what belongs to the parent
  }

  void report(int rank, const char* message) {
    int none = 0;
    if (!first_failure_->rank.compare_exchange_strong(none, rank)) return;
    std::snprintf(first_failure_->message, sizeof first_failure_->message, "%s", message);
  }

  std::optional<std::string> failure(int options) {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      int status = 0;
      if (processes_[i] == kEnded || ::waitpid(processes_[i], &status, options) <= 0) continue;
      processes_[i] = kEnded;
      if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        return rank_text(i + 1) + ": killed by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
      }
      failed_ = failed_ || WEXITSTATUS(status) != 0;
    }
    const int first = first_failure_->rank;
    if (!failed_ || first == 0) return std::nullopt;
    return rank_text(static_cast<std::size_t>(first)) + ": " + first_failure_->message;
  }

  FirstFailure* first_failure_;
  std::vector<pid_t> processes_;
  std::string start_error_;
  bool failed_ = false;
};

}  // namespace

void run_ranks(int ranks, const std::function<void(int rank)>& work) {
  OtherRanks others(ranks, work);
  if (!others.start_error().empty()) throw Error(others.start_error());
  try {
    work(0);
  } catch (const LostRank&) {
    if (const auto cause = others.failure_within_a_second()) throw Error(*cause);
    throw;
  }
  if (const auto cause = others.wait()) throw Error(*cause);
}

}  // namespace trasmuon::lab
