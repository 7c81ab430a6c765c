// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/runner.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "lab/records/checkpoint.h"
#include "lab/records/files.h"
#include "lab/records/machine.h"
#include "lab/records/memory.h"
#include "lab/records/run_record.h"
#include "lab/runner/console.h"
#include "lab/runner/folder_lock.h"
#include "lab/runner/progress.h"
#include "lab/runner/run_process.h"
#include "lab/runner/run_times.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Blocks the signals that we wait for, so that none is lost between two waits.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&held_, signal);
    ::sigprocmask(SIG_BLOCK, &held_, &before_);
    child_ = ::signal(SIGCHLD, SIG_DFL);
  }
  ~BlockedSignals() {
    ::signal(SIGCHLD, child_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  /// Returns the next signal, or 0 after 0.2 s.
  int wait() const {
    const timespec while_{.tv_sec = 0, .tv_nsec = 200'000'000};
    const int signal = ::sigtimedwait(&held_, nullptr, &while_);
    return std::max(signal, 0);
  }

 private:
  sigset_t held_, before_;
  void (*child_)(int);
};

/// Reports of the forked runs, in shared memory: they write, we read.
class SharedReports {
 public:
  explicit SharedReports(std::size_t count) : bytes_(count * sizeof(RunReport)) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedReports() { ::munmap(memory_, bytes_); }
  SharedReports(const SharedReports&) = delete;
  SharedReports& operator=(const SharedReports&) = delete;

  RunReport& operator[](std::size_t i) { return static_cast<RunReport*>(memory_)[i]; }

 private:
  static_assert(std::atomic<double>::is_always_lock_free);
  std::size_t bytes_;
  void* memory_;
};

struct Task {
  RunSpec spec;
  std::string id, kind;
};

/// The running processes.
class Pool {
 public:
  Pool(fs::path runs, std::size_t jobs) : runs_(std::move(runs)), slots_(jobs), reports_(jobs) {}
  ~Pool() {
    for (Slot& slot : slots_) {
      if (slot.process == 0) continue;
      ::kill(slot.process, SIGKILL);
      ::waitpid(slot.process, nullptr, 0);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool has_room() const { return running_count() < slots_.size(); }
  std::size_t running_count() const {
    return static_cast<std::size_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.process != 0; }));
  }

  void start(const Task& task) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.process == 0; });
    RunReport& report = reports_[static_cast<std::size_t>(slot - slots_.begin())];
    slot->process = start_run(task.spec, runs_ / task.id, report);
    slot->task = &task;
    slot->start = Clock::now();
  }

  /// Calls ended(task, end, seconds) for every process that is over.
  template <class Ended>
  void collect(Ended ended) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      int status = 0;
      if (slot.process == 0 || ::waitpid(slot.process, &status, WNOHANG) == 0) continue;
      slot.process = 0;
      ended(*slot.task, end_of_run(status, reports_[i], runs_ / slot.task->id), seconds_since(slot.start));
    }
  }

  std::vector<RunTimes::Running> running() {
    std::vector<RunTimes::Running> list;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].process == 0) continue;
      list.push_back(
          {slots_[i].task->kind, seconds_since(slots_[i].start), std::clamp(reports_[i].fraction.load(), 0.0, 1.0)});
    }
    return list;
  }

 private:
  struct Slot {
    pid_t process = 0;
    const Task* task = nullptr;
    Clock::time_point start;
  };
  fs::path runs_;
  std::vector<Slot> slots_;
  SharedReports reports_;
};

/// Whether the folder contains the whole record of a finished run; a damaged one is named.
bool is_finished(const fs::path& folder, std::FILE* console) {
  try {
    return read_record(folder).has_value();
  } catch (const Error& error) {
    print(console, "damaged record, the run is repeated: {}\n", error.what());
    return false;
  }
}

/// Removes a checkpoint from which the run cannot continue, and names it.
void check_checkpoint(const fs::path& folder, std::FILE* console) {
  try {
    can_continue(folder);
  } catch (const Error& error) {
    print(console, "damaged checkpoint, the run starts anew: {}\n", error.what());
    fs::remove(checkpoint_file(folder));
  }
}

/// The runs that are not finished, ordered by seed: so every kind of run starts early, a report on an unfinished plan
/// shows every group, and the estimate of the remaining time is good.
std::vector<Task> open_tasks(const Plan& plan, const fs::path& runs, std::FILE* console, Outcome& outcome) {
  std::vector<Task> tasks;
  std::set<std::string> seen;
  for (const PlannedRun& run : plan.runs) {
    std::string id = run_id(run.spec);
    if (!seen.insert(id).second) continue;
    ++outcome.planned;
    if (is_finished(runs / id, console)) {
      ++outcome.already_finished;
      continue;
    }
    check_checkpoint(runs / id, console);
    RunSpec kind = run.spec;
    kind.seed = 0;
    tasks.push_back({run.spec, std::move(id), run_id(kind)});
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.spec.seed < b.spec.seed; });
  return tasks;
}

void run_tasks(const std::vector<Task>& tasks, const RunnerOptions& options, std::size_t jobs, Outcome& outcome) {
  const BlockedSignals signals;
  Progress progress(options.console, options.terminal, outcome.planned, outcome.already_finished);
  RunTimes times;
  for (const Task& task : tasks) times.expect(task.kind);
  Pool pool(options.out / "runs", jobs);
  const auto show = [&] {
    const std::vector<RunTimes::Running> running = pool.running();
    double in_flight = 0;
    for (const RunTimes::Running& run : running) in_flight += run.fraction;
    progress.update(outcome.already_finished + outcome.finished + outcome.failed, running.size(), in_flight,
                    times.remaining(running, static_cast<int>(jobs)));
  };
  auto next = tasks.begin();
  while (outcome.write_error.empty() && (next != tasks.end() || pool.running_count() > 0)) {
    try {
      for (; next != tasks.end() && pool.has_room(); ++next) {
        pool.start(*next);
        times.start(next->kind);
      }
    } catch (const WriteError& error) {
      outcome.write_error = error.what();
      return;
    }
    show();
    const int signal = signals.wait();
    if (signal != 0 && signal != SIGCHLD) {
      outcome.signal = signal;
      return;
    }
    pool.collect([&](const Task& task, const RunEnd& end, double seconds) {
      if (end.cannot_write) {
        outcome.write_error = end.message;
      } else if (end.finished) {
        ++outcome.finished;
        times.finish(task.kind, seconds);
      } else {
        ++outcome.failed;
        progress.message(task.id + " failed: " + end.message);
      }
    });
  }
  show();
}

/// Finds missing data before the first run.
void check_machine(const std::vector<Task>& tasks) {
  std::set<Json> seen;
  for (const Task& task : tasks)
    if (seen.insert(task.spec.settings).second) find_study(task.spec.study).check_machine(task.spec.settings);
}

/// How many runs there may be at once: what was asked for, or as many as there are cores and room in memory.
std::size_t job_count(const std::vector<Task>& tasks, const RunnerOptions& options) {
  double largest = 1;
  int most_cores = 1;
  for (const Task& task : tasks) {
    const Study& study = find_study(task.spec.study);
    largest = std::max(largest, study.memory(task.spec.settings));
    most_cores = std::max(most_cores, study.cores(task.spec.settings));
  }
  const double usable = usable_memory(), fitting = std::max(1.0, std::floor(usable / largest));
  if (options.jobs == 0)
    return static_cast<std::size_t>(std::min(fitting, std::max(1.0, std::floor(usable_cores() / double(most_cores)))));
  const std::size_t jobs = std::min(static_cast<std::size_t>(options.jobs), tasks.size());
  if (static_cast<double>(jobs) <= fitting) return jobs;
  throw Error(fmt::format("--jobs must be <= {} for runs of about {} in a memory of {}, got {}", fitting,
                          bytes_text(largest), bytes_text(usable), options.jobs));
}

}  // namespace

Outcome run_plan(const Plan& plan, const RunnerOptions& options) {
  std::error_code error;
  fs::create_directories(options.out / "runs", error);
  if (error) throw WriteError(options.out / "runs", error.value());
  const FolderLock lock(options.out);
  write_plan(plan, options.out, options.command);

  Outcome outcome;
  const std::vector<Task> tasks = open_tasks(plan, options.out / "runs", options.console, outcome);
  if (tasks.empty()) return outcome;
  check_machine(tasks);
  run_tasks(tasks, options, std::min(job_count(tasks, options), tasks.size()), outcome);
  return outcome;
}

}  // namespace trasmuon::lab
