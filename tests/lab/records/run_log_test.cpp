// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/records/files.h"
#include "lab/records/run_set.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RunLog, TablesReadBackToTheBit) {
  const test::TemporaryDirectory folder;
  const std::vector<double> values = {0.1 + 0.2, -0.0, 1e300 * 10, 5e-324, kInfinity, -kInfinity, 1.0 / 3};
  {
    RunLog log(folder.path());
    for (std::size_t i = 0; i < values.size(); ++i) {
      log.table("metrics", {"step", "loss", "c"}).row({static_cast<double>(i), values[i], kNaN});
    }
    log.table("events", {"step"}).row({7});
    log.flush();
    EXPECT_EQ(test::read_file(folder / "metrics.csv").substr(0, 41), "step,loss,c\n0,0.30000000000000004,\n1,-0,\n");
  }
  const RunRecord record{.folder = folder.path(), .spec = {}, .summary = {}};
  const Columns metrics = record.table("metrics");
  ASSERT_EQ(metrics["loss"].size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::signbit(metrics["loss"][i]), std::signbit(values[i]));
    EXPECT_EQ(metrics["loss"][i], values[i]);
    EXPECT_TRUE(std::isnan(metrics["c"][i]));
  }
  EXPECT_EQ(record.table("events")["step"], std::vector<double>{7});
}

TEST(RunLog, RefusesARowOfAnotherWidth) {
  const test::TemporaryDirectory folder;
  RunLog log(folder.path());
  MetricsTable& table = log.table("metrics", {"step", "loss"});
  EXPECT_EQ(test::error_of([&] { table.row({1}); }), "metrics.csv: a row must have 2 values, got 1");
}

TEST(RunLog, ReportsAFullDisk) {
  const test::TemporaryDirectory folder;
  std::filesystem::create_symlink("/dev/full", folder / "metrics.csv");
  RunLog log(folder.path());
  const std::string error = test::error_of([&] { log.table("metrics", {"step"}); });
  EXPECT_TRUE(
      error.starts_with("cannot write " + (folder / "metrics.csv") + ": No space left on device (it needs 5 bytes, "))
      << error;
}

TEST(RunLog, HandsOnItsProgress) {
  double last = 0;
  const RunLog log("nowhere", [&](double fraction) { last = fraction; });
  log.progress(0.25);
  EXPECT_EQ(last, 0.25);
  RunLog("nowhere").progress(0.5);  // nobody listens
}

TEST(Columns, RefuseWhatIsNotThere) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "metrics.csv", "step,loss\n1,2\n");
  test::write_file(folder / "short.csv", "step,loss\n1\n");
  test::write_file(folder / "words.csv", "step\none\n");
  const RunRecord record{.folder = folder.path(), .spec = {}, .summary = {}};
  EXPECT_EQ(test::error_of([&] { record.table("metrics")["los"]; }),
            "the table has no column 'los'; it has step, loss");
  EXPECT_EQ(test::error_of([&] { record.table("none"); }),
            "cannot read " + (folder / "none.csv") + ": No such file or directory");
  EXPECT_EQ(test::error_of([&] { record.table("short"); }),
            (folder / "short.csv") + ": a row must have 2 cells, got '1'");
  EXPECT_EQ(test::error_of([&] { record.table("words"); }),
            (folder / "words.csv") + ": a cell must be a number, got 'one'");
}

}  // namespace
}  // namespace trasmuon::lab
