// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <functional>

#include "lab/runner/console.h"

namespace trasmuon::lab {
namespace {

std::string printed(bool terminal, std::size_t total, const std::function<void(Progress&)>& use) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  {
    Progress progress(stream, terminal, total, 0);
    use(progress);
  }
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);  // NOLINT: open_memstream's
  return result;
}

TEST(DurationText, FitsItsUnit) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1:00 min");
  EXPECT_EQ(duration_text(187), "3:07 min");
  EXPECT_EQ(duration_text(3720), "1:02 h");
  EXPECT_EQ(duration_text(360000), "100:00 h");
}

TEST(Progress, RedrawsOneLineOnATerminal) {
  EXPECT_EQ(printed(true, 8, [](Progress& p) { p.update(1, 2, 1.0, 65); }),
            "\r\033[K[#####...............]  25 %  1 of 8 runs, 2 running, about 1:05 min left\r\033[K");
  EXPECT_EQ(printed(true, 8, [](Progress& p) { p.message("a failed"); }), "a failed\n");
  EXPECT_EQ(printed(true, 8, [](Progress& p) { p.update(0, 1, 0, {}), p.message("a failed"); }),
            "\r\033[K[....................]   0 %  0 of 8 runs, 1 running\r\033[Ka failed\n");
}

TEST(Progress, FitsNarrowTerminals) {
  const auto line = [](int width) { return progress_line(width, 0.25, 1, 8, 2, 65); };
  EXPECT_EQ(line(80), "[#####...............]  25 %  1 of 8 runs, 2 running, about 1:05 min left");
  EXPECT_EQ(line(70), " 25 %  1 of 8 runs, 2 running, about 1:05 min left");
  EXPECT_EQ(line(20), " 25 %  1 of 8 runs");
  EXPECT_EQ(line(10), "25 %");
  EXPECT_EQ(line(2), "25");
  EXPECT_EQ(line(0), "");
  EXPECT_EQ(line(-1), "");
}

TEST(Progress, AsksTheTerminalForItsWidth) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) GTEST_SKIP() << "no terminals here";
  std::FILE* stream = std::fopen(::ptsname(terminal), "w");
  ASSERT_NE(stream, nullptr);
  const char* before = std::getenv("COLUMNS");
  const std::string columns = before == nullptr ? "" : before;
  ::unsetenv("COLUMNS");
  winsize size{};
  ::ioctl(terminal, TIOCSWINSZ, &size);
  EXPECT_EQ(terminal_width(stream), 80);  // it does not know
  size.ws_col = 33;
  ::ioctl(terminal, TIOCSWINSZ, &size);
  EXPECT_EQ(terminal_width(stream), 33);
  ::setenv("COLUMNS", "20", 1);
  EXPECT_EQ(terminal_width(stream), 20);
  for (const char* odd : {"0", "-5", "wide", "99999999999999999999"}) {
    ::setenv("COLUMNS", odd, 1);
    EXPECT_EQ(terminal_width(stream), 33) << odd;
  }
  ::setenv("COLUMNS", "20", 1);
  {
    Progress progress(stream, true, 8, 0);
    progress.update(1, 2, 1.0, 65);
    char text[200] = {};
    EXPECT_GT(::read(terminal, text, sizeof text - 1), 0);
    EXPECT_STREQ(text, "\r\033[K 25 %  1 of 8 runs");
  }
  std::fclose(stream);
  ::close(terminal);
  if (columns.empty()) ::unsetenv("COLUMNS");
  else ::setenv("COLUMNS", columns.c_str(), 1);
  EXPECT_EQ(terminal_width(std::tmpfile()), 0);
}

TEST(Progress, PrintsFewPlainLinesElsewhere) {
  const std::string text = printed(false, 1000, [](Progress& p) {
    for (std::size_t done = 1; done <= 1000; ++done) p.update(done, 2, 0, 10);
  });
  EXPECT_EQ(text, "100 %  1000 of 1000 runs\n");  // it took no time: only the end is told
}

}  // namespace
}  // namespace trasmuon::lab
