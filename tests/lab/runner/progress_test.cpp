// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

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
            "\r\033[K[#####...............]  25 %  1 of 8 runs, 2 at work, about 1:05 min left\r\033[K");
  EXPECT_EQ(printed(true, 8, [](Progress& p) { p.message("a failed"); }), "a failed\n");
  EXPECT_EQ(printed(true, 8, [](Progress& p) { p.update(0, 1, 0, {}), p.message("a failed"); }),
            "\r\033[K[....................]   0 %  0 of 8 runs, 1 at work\r\033[Ka failed\n");
}

TEST(Progress, PrintsFewPlainLinesElsewhere) {
  const std::string text = printed(false, 1000, [](Progress& p) {
    for (std::size_t done = 1; done <= 1000; ++done) p.update(done, 2, 0, 10);
  });
  EXPECT_EQ(text, "100 %  1000 of 1000 runs\n");  // it took no time: only the end is told
}

}  // namespace
}  // namespace trasmuon::lab
