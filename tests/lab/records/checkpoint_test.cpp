// SPDX-License-Identifier: Apache-2.0
#include "lab/records/checkpoint.h"

#include <gtest/gtest.h>

#include "lab/records/run_log.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const Json& head, const std::string& bytes) {
  CheckpointWriter writer(file, head);
  writer.add(bytes.data(), bytes.size());
  writer.commit();
}

TEST(Checkpoint, ReadsBackWhatWasWritten) {
  const test::TemporaryDirectory folder;
  const std::string bytes("a\n\0b", 4);
  write(folder / "c", {{"step", 7}}, bytes);
  CheckpointReader reader(folder / "c");
  EXPECT_EQ(reader.head()["step"], 7);
  std::string read(4, ' ');
  reader.read(read.data(), 1);
  reader.read(read.data() + 1, 3);
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(test::error_of([&] { reader.read(read.data(), 1); }), (folder / "c") + ": must have 1 more bytes, got 0");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"c"});
}

TEST(Checkpoint, StaysAsItWasUntilTheNewOneIsComplete) {
  const test::TemporaryDirectory folder;
  write(folder / "c", {{"step", 1}}, "old");
  {
    CheckpointWriter writer(folder / "c", {{"step", 2}});
    writer.add("new", 3);
    EXPECT_EQ(CheckpointReader(folder / "c").head()["step"], 1);
  }  // given up
  EXPECT_EQ(CheckpointReader(folder / "c").head()["step"], 1);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"c"});
}

TEST(Checkpoint, EveryCutAndEveryFlippedBitIsFound) {
  const test::TemporaryDirectory folder;
  write(folder / "c", {{"step", 1}}, "some bytes");
  const std::string whole = test::read_file(folder / "c");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::write_file(folder / "c", whole.substr(0, size));
    EXPECT_NE(test::error_of([&] { CheckpointReader(folder / "c"); }), "no error") << size;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    test::write_file(folder / "c", changed);
    EXPECT_NE(test::error_of([&] { CheckpointReader(folder / "c"); }).find(folder / "c"), std::string::npos) << i;
  }
}

/// The folder of a run with two rows in its table, a checkpoint after the first.
struct Interrupted {
  Interrupted() {
    fs::create_directory(run);
    test::write_file(run + "/manifest.json", "{}");
    RunLog log(run);
    log.table("metrics", {"step", "loss"}).row({0, 0.5});
    log.sync();
    head = {{"run", "m-s0-1"}, {"tables", log.tables()}};
    write(checkpoint_file(run), head, "");
    log.table("metrics", {"step", "loss"}).row({1, 0.25});
    log.table("later", {"step"}).row({1});
    log.flush();
  }
  test::TemporaryDirectory folder;
  std::string run = folder / "m-s0-1";
  Json head;
};

TEST(CanContinue, KnowsAWholeCheckpointAndNone) {
  const Interrupted it;
  EXPECT_TRUE(can_continue(it.run));
  fs::remove(checkpoint_file(it.run));
  EXPECT_FALSE(can_continue(it.run));
}

TEST(CanContinue, RefusesAnotherRunAndChangedTables) {
  const Interrupted it;
  const auto refusal = [&] { return test::error_of([&] { can_continue(it.run); }); };
  const std::string table = test::read_file(it.run + "/metrics.csv");
  test::write_file(it.run + "/metrics.csv", "step,loss\n0,0.6\n1,0.25\n");
  EXPECT_EQ(refusal(), it.run + "/metrics.csv: does not begin as it was at the checkpoint");
  test::write_file(it.run + "/metrics.csv", table);
  EXPECT_EQ(refusal(), "no error");
  Json head = it.head;
  head["run"] = "m-s1-2";
  write(checkpoint_file(it.run), head, "");
  EXPECT_EQ(refusal(), checkpoint_file(it.run).string() + ": is of another run, m-s1-2");
  head.erase("run");
  write(checkpoint_file(it.run), head, "");
  EXPECT_NE(refusal().find("a field is missing or wrong"), std::string::npos);
}

TEST(RunLog, ContinuesItsTablesWhereTheCheckpointWas) {
  const Interrupted it;
  RunLog log(it.run);
  log.continue_from(it.head["tables"]);
  EXPECT_FALSE(fs::exists(it.run + "/later.csv"));
  log.table("metrics", {"step", "loss"}).row({1, 0.125});
  log.flush();
  const std::string text = test::read_file(it.run + "/metrics.csv");
  EXPECT_EQ(text, "step,loss\n0,0.5\n1,0.125\n");
  EXPECT_EQ(log.tables()["metrics"], (Json{{"bytes", text.size()}, {"checksum", checksum(text)}}));
  EXPECT_EQ(test::error_of([&] { log.table("metrics", {}).row({1}); }), "metrics.csv: a row must have 2 values, got 1");
}

}  // namespace
}  // namespace trasmuon::lab
