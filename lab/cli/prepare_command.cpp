// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/prepare.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "lab/cli/commands.h"
#include "lab/cli/shell.h"
#include "lab/records/memory.h"
#include "lab/runner/console.h"
#include "lab/runner/progress.h"

namespace trasmuon::lab {
namespace {

volatile sig_atomic_t caught_signal = 0;

/// Lets signals that would end the program be noticed at the next report of progress instead.
void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int number) { caught_signal = number; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

/// On a terminal one line that is redrawn four times a second, elsewhere a line every 10 %.
class PrepareDisplay {
 public:
  void update(const PrepareProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> elapsed = now - start_, since = now - last_;
    const double share = static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes);
    const int tenth = static_cast<int>(10 * share);
    if (progress.bytes_done == progress.bytes || (terminal_ ? since.count() < 0.25 : tenth == last_tenth_)) return;
    last_ = now;
    last_tenth_ = tenth;
    const std::string line = fmt::format(
        "{:3} %  {} of {}, {:.1f} million tokens, about {} left", static_cast<int>(100 * share),
        bytes_text(static_cast<double>(progress.bytes_done)), bytes_text(static_cast<double>(progress.bytes)),
        static_cast<double>(progress.tokens) * 1e-6, duration_text(elapsed.count() * (1 - share) / share));
    if (terminal_) print(stderr, "\r\033[K{}", line.substr(0, static_cast<std::size_t>(terminal_width(stderr) - 1)));
    else print(stderr, "{}\n", line);
    std::fflush(stderr);
  }
  ~PrepareDisplay() {
    if (terminal_) print(stderr, "\r\033[K");
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
  int last_tenth_ = 0;
};

void describe(const char* name, const PreparedTokens& tokens) {
  print(stdout, "{}: {} tokens of {} document{} in {} file{}\n", name, tokens.tokens, tokens.documents,
        tokens.documents == 1 ? "" : "s", tokens.files, tokens.files == 1 ? "" : "s");
}

}  // namespace

int prepare_command(const PrepareOptions& options) {
  catch_signals();
  PrepareResult result;
  {
    PrepareDisplay display;
    result = prepare_tokens(options, [&](const PrepareProgress& progress) {
      display.update(progress);
      return caught_signal == 0;
    });
  }
  if (result.stopped) {
    print(stdout, "stopped; nothing was written\n");
    return 128 + caught_signal;
  }
  describe("train", result.train);
  describe("val", result.val);
  print(stdout, "vocabulary {}; the files are in {}\n", result.vocabulary, shell_path(options.out.string()));
  return 0;
}

}  // namespace trasmuon::lab
