// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_record.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "lab/records/files.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

RunSpec spec_of(std::uint64_t seed) {
  return {.study = "tiny", .method = "a", .options = TrasMuonOptions{}, .settings = {{"kappa", 1e4}}, .seed = seed};
}

/// Writes the record of a finished run and returns its folder.
std::string write_record(const test::TemporaryDirectory& out, std::uint64_t seed) {
  const std::string folder = out / run_id(spec_of(seed));
  fs::create_directories(folder);
  write_manifest(spec_of(seed), folder);
  RunLog log(folder);
  for (int step = 0; step < 20; ++step) {
    log.table("metrics", {"step", "loss"}).row({static_cast<double>(step), 1.0 / (step + 3)});
  }
  log.flush();
  write_summary({{"final_loss", 0.5}, {"lost", nullptr}}, spec_of(seed), log, folder);
  return folder;
}

/// Turns it into what versions before format 2 wrote.
void make_old(const std::string& folder) {
  Json manifest = read_json(folder + "/manifest.json"), summary = read_json(folder + "/summary.json");
  manifest.erase("format");
  manifest["spec"]["options"].erase("ns_precision");  // a field that was added later
  summary.erase("record");
  test::write_file(folder + "/manifest.json", manifest.dump());
  test::write_file(folder + "/summary.json", summary.dump());
}

TEST(RunRecord, ReadsBackWhatWasWritten) {
  const test::TemporaryDirectory out;
  const auto record = read_record(write_record(out, 3));
  ASSERT_TRUE(record);
  EXPECT_EQ(to_json(record->spec), to_json(spec_of(3)));
  EXPECT_EQ(record->summary, (Json{{"final_loss", 0.5}, {"lost", nullptr}}));  // the numbers only
  EXPECT_EQ(record->table("metrics")["step"].size(), 20u);
}

TEST(RunRecord, OfAnUnfinishedRunIsNothing) {
  const test::TemporaryDirectory out;
  EXPECT_FALSE(read_record(out / "none"));
  EXPECT_FALSE(read_record(out.path()));
  test::write_file(out / "file", "");
  EXPECT_FALSE(read_record(out / "file"));
  const std::string folder = write_record(out, 3);
  fs::remove(folder + "/summary.json");
  EXPECT_FALSE(read_record(folder));
}

TEST(RunRecord, OfAnEarlierVersionIsRead) {
  const test::TemporaryDirectory out;
  const std::string folder = write_record(out, 3);
  make_old(folder);
  const auto record = read_record(folder);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->value("final_loss"), 0.5);
  EXPECT_EQ(record->table("metrics")["loss"].size(), 20u);
}

/// What may happen to a record, and what the message says about it.
struct Damage {
  const char* name;
  std::function<void(const std::string& folder, const std::string& other)> act;
  const char* message;
  bool old_too = true;  ///< found in records of earlier versions
};

void cut(const std::string& file, std::size_t bytes) { fs::resize_file(file, fs::file_size(file) - bytes); }

const std::vector<Damage> kDamages = {
    {"empty summary", [](auto& f, auto&) { test::write_file(f + "/summary.json", ""); },
     "summary.json: not valid JSON"},
    {"cut summary", [](auto& f, auto&) { cut(f + "/summary.json", 8); }, "summary.json: not valid JSON"},
    {"{}", [](auto& f, auto&) { test::write_file(f + "/summary.json", "{}"); }, "summary.json: has no numbers"},
    {"null", [](auto& f, auto&) { test::write_file(f + "/summary.json", "null"); }, "summary.json: has no numbers"},
    {"[3]", [](auto& f, auto&) { test::write_file(f + "/summary.json", "[3]"); }, "summary.json: has no numbers"},
    {"foreign summary", [](auto& f, auto&) { test::write_file(f + "/summary.json", "{\"a\": 1}"); },
     "'record' not found", false},
    {"summary of another run",
     [](auto& f, auto& other) {
       fs::copy_file(other + "/summary.json", f + "/summary.json", fs::copy_options::overwrite_existing);
     },
     "summary.json: is of another run", false},
    {"a folder", [](auto& f, auto&) { fs::remove(f + "/summary.json"), fs::create_directory(f + "/summary.json"); },
     "it is a folder"},
    {"a pipe", [](auto& f, auto&) { fs::remove(f + "/summary.json"), ::mkfifo((f + "/summary.json").c_str(), 0666); },
     "it is not a regular file"},
    {"a link to nothing",
     [](auto& f, auto&) { fs::remove(f + "/summary.json"), fs::create_symlink("none", f + "/summary.json"); },
     "summary.json: No such file"},
    {"no manifest", [](auto& f, auto&) { fs::remove(f + "/manifest.json"); }, "manifest.json: No such file"},
    {"cut manifest", [](auto& f, auto&) { cut(f + "/manifest.json", 8); }, "manifest.json: not valid JSON"},
    {"manifest null", [](auto& f, auto&) { test::write_file(f + "/manifest.json", "null"); }, "missing or wrong"},
    {"manifest {}", [](auto& f, auto&) { test::write_file(f + "/manifest.json", "{}"); }, "missing or wrong"},
    {"manifest of another run",
     [](auto& f, auto& other) {
       fs::copy_file(other + "/manifest.json", f + "/manifest.json", fs::copy_options::overwrite_existing);
     },
     "manifest.json: is of another run"},
    {"row cut off", [](auto& f, auto&) { cut(f + "/metrics.csv", 3); }, "metrics.csv: "},
    {"empty table", [](auto& f, auto&) { test::write_file(f + "/metrics.csv", ""); }, "metrics.csv: "},
    {"foreign table", [](auto& f, auto&) { test::write_file(f + "/metrics.csv", "a,b\n1,2\n"); }, "metrics.csv: "},
    {"binary table", [](auto& f, auto&) { test::write_file(f + "/metrics.csv", std::string(500, '\xff')); },
     "metrics.csv: "},
    {"whole rows missing",
     [](auto& f, auto&) { test::write_file(f + "/metrics.csv", "step,loss\n0,0.3333333333333333\n"); },
     "metrics.csv: must have 372 bytes, got 31", false},
    {"a digit changed",
     [](auto& f, auto&) {
       std::string text = test::read_file(f + "/metrics.csv");
       text[text.find('3')] = '4';
       test::write_file(f + "/metrics.csv", text);
     },
     "metrics.csv: was changed after the run", false},
    {"no table", [](auto& f, auto&) { fs::remove(f + "/metrics.csv"); }, "metrics.csv: No such file", false},
};

TEST(RunRecord, DamageIsFoundAndNamed) {
  for (const bool old : {false, true}) {
    for (const Damage& damage : kDamages) {
      if (old && !damage.old_too) continue;
      const test::TemporaryDirectory out;
      const std::string folder = write_record(out, 3), other = write_record(out, 4);
      if (old) make_old(folder), make_old(other);
      damage.act(folder, other);
      const std::string error = test::error_of([&] { read_record(folder); });
      EXPECT_NE(error.find(damage.message), std::string::npos) << damage.name << ": " << error;
      EXPECT_NE(error.find(folder), std::string::npos) << damage.name << ": " << error;
    }
  }
}

TEST(RunRecord, NeedsNumbers) {
  const test::TemporaryDirectory out;
  const RunLog log(out.path());
  EXPECT_EQ(test::error_of([&] { write_summary({}, spec_of(1), log, out.path()); }),
            "study 'tiny' returned no numbers");
}

}  // namespace
}  // namespace trasmuon::lab
