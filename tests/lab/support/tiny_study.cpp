// SPDX-License-Identifier: Apache-2.0
// In place of the program's studies: "tiny" takes a few steps on an 8 x 8 matrix and fails on demand; "heavy" cannot
// run in this build.
#include <trasmuon/optimizer.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include "lab/records/files.h"
#include "lab/study/options_check.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {
namespace {

struct TinySettings {
  int steps = 5;
  double kappa = 10;
  bool bursts = true;
  std::string layers = "all", accident = "none", diary;
  double pause = 0, memory = 0;
};

template <OptionsOf<TinySettings> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("steps", s.steps, at_least(1), "training steps");
  visit("kappa", s.kappa, at_least(1), "condition number");
  visit("bursts", s.bursts, any_range(), "whether bursts happen");
  visit("layers", s.layers, one_of({"hidden", "all"}), "which weights");
  visit("accident", s.accident, one_of({"none", "throw", "crash", "full", "odd-seeds"}), "how it fails");
  visit("diary", s.diary, one_of({}), "a file that gets a line from every run");
  visit("pause", s.pause, at_least(0), "seconds before each step");
  visit("memory", s.memory, at_least(0), "bytes that a run claims to need");
}

class TinyStudy final : public Study {
 public:
  std::string_view name() const override { return "tiny"; }
  std::string_view description() const override { return "a study for tests"; }
  std::vector<Field> settings() const override { return describe_settings<TinySettings>(); }
  Json complete(const Json& given) const override {
    return settings_to_json(settings_from<TinySettings>(given, name()));
  }

  void check(const RunSpec& spec) const override { check_options<double>(spec.options, 1, "tiny"); }
  double memory(const Json& settings) const override { return settings.at("memory").get<double>(); }

  Json run(const RunSpec& spec, RunLog& log) const override {
    const auto settings = settings_from<TinySettings>(spec.settings, name());
    if (!settings.diary.empty()) std::ofstream(settings.diary, std::ios::app) << spec.method << '\n';
    have_accident(settings.accident, spec.seed);

    std::array<double, 64> weight{}, gradient{};
    Optimizer optimizer({{spec.options, {{"w", view(weight.data(), {8, 8})}}}});
    std::mt19937_64 random(spec.seed);
    double loss = 0;
    for (int step = 1; step <= settings.steps; ++step) {
      std::this_thread::sleep_for(std::chrono::duration<double>(settings.pause));
      for (double& value : gradient) value = settings.kappa * static_cast<double>(random() % 1000) / 1000;
      optimizer.step(std::array{view(gradient.data(), {8, 8})});
      loss = 0;
      for (const double value : weight) loss += value * value;
      log.table("metrics", {"step", "loss"}).row({static_cast<double>(step), loss});
      log.progress(static_cast<double>(step) / settings.steps);
    }
    return {{"final_loss", loss}, {"spikes", 0}};
  }

 private:
  static void have_accident(const std::string& accident, std::uint64_t seed) {
    if (accident == "throw" || (accident == "odd-seeds" && seed % 2 == 1)) {
      std::fprintf(stderr, "something before it\n");
      throw std::runtime_error("the loss is no number");
    }
    if (accident == "crash") std::raise(SIGSEGV);
    if (accident == "full") throw WriteError("runs/x/metrics.csv", ENOSPC);
  }
};

class HeavyStudy final : public Study {
 public:
  std::string_view name() const override { return "heavy"; }
  std::string_view description() const override { return "a study that this build cannot run"; }
  std::vector<Field> settings() const override { return {}; }
  Json complete(const Json& given) const override { return given; }
  void check(const RunSpec&) const override {}
  double memory(const Json&) const override { return 0; }
  std::string_view missing() const override { return "LibTorch"; }
  Json run(const RunSpec&, RunLog&) const override { return {}; }
};

}  // namespace

const std::vector<const Study*>& known_studies() {
  static const TinyStudy tiny;
  static const HeavyStudy heavy;
  static const std::vector<const Study*> all = {&tiny, &heavy};
  return all;
}

}  // namespace trasmuon::lab
