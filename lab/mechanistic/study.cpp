// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/study.h"

#include <charconv>
#include <limits>

#include "lab/mechanistic/report/report.h"
#include "lab/mechanistic/run.h"

namespace trasmuon::lab {
namespace {

/// Six digits are enough for a curve, and a recipe has a million rows.
double shortened(double value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr;
  std::from_chars(text, end, value);
  return value;
}

Json to_json(const MechanisticSummary& summary) {
  return {{"spikes", summary.spikes.count},
          {"spike_peak", summary.spikes.peak},
          {"initial_loss", summary.initial_loss},
          {"final_loss", summary.final_loss},  // not a number or infinite: written as null
          {"final_median", summary.final_median},
          {"best_loss", summary.best_loss},
          {"mean_c", summary.mean_c},
          {"min_c", summary.min_c},
          {"update_rms", summary.update_rms},
          {"lr", summary.lr},
          {"steps", summary.steps},
          {"bound_violations", summary.bound_violations},
          {"c_violations", summary.c_violations},
          {"misaligned_steps", summary.misaligned_steps},
          {"bound_ratio", summary.bound_ratio}};
}

class MechanisticStudy final : public Study {
 public:
  std::string_view name() const override { return "mechanistic"; }
  std::string_view description() const override {
    return "momentum columns that burst, on an ill-conditioned quadratic (needs no LibTorch)";
  }
  std::vector<Field> settings() const override { return describe_settings<MechanisticSettings>(); }

  Json complete(const Json& given) const override {
    const auto settings = settings_from<MechanisticSettings>(given, name());
    validate(settings);
    return settings_to_json(settings);
  }

  void check(const RunSpec& spec) const override {
    lab::check(settings_from<MechanisticSettings>(spec.settings, name()), spec.options);
  }
  double memory(const Json& settings) const override {
    return lab::memory(settings_from<MechanisticSettings>(settings, name()));
  }

  Json run(const RunSpec& spec, RunLog& log) const override {
    const auto settings = settings_from<MechanisticSettings>(spec.settings, name());
    MetricsTable* trace = !settings.trace ? nullptr
                                          : &log.table("metrics", {"step", "loss", "event", "r_q95", "r_max",
                                                                   "c_used_min", "c_hit", "c_mean", "update_rms"});
    return to_json(run_mechanistic(settings, spec.options, spec.seed, [&](const MechanisticStep& seen) {
      if (trace != nullptr) write(seen, *trace);
      if (seen.step % 32 == 0) log.progress(static_cast<double>(seen.step) / settings.steps);
    }));
  }

  std::vector<std::string> main_numbers() const override { return {"spikes", "final_loss", "mean_c"}; }
  void report(const RunSet& runs, Document& document, Gnuplot& gnuplot) const override {
    report_mechanistic(runs, document, gnuplot);
  }

 private:
  static void write(const MechanisticStep& seen, MetricsTable& trace) {
    const bool first = seen.step == 0;
    const auto value_at = [&](double value) {
      return first ? std::numeric_limits<double>::quiet_NaN() : shortened(value);
    };
    trace.row({static_cast<double>(seen.step), shortened(seen.loss), seen.event ? 1.0 : 0.0, value_at(seen.r_q95),
               value_at(seen.r_max), value_at(seen.c_min), value_at(seen.c_hit), value_at(seen.c_mean),
               value_at(seen.update_rms)});
  }
};

}  // namespace

const Study& mechanistic_study() {
  static const MechanisticStudy study;
  return study;
}

}  // namespace trasmuon::lab
