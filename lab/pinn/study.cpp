// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/study.h"

#include <trasmuon/error.h>

#include <limits>
#include <string>

#include "lab/pinn/report/report.h"
#include "lab/pinn/run.h"
#include "lab/pinn/settings.h"
#include "lab/study/options_check.h"

namespace trasmuon::lab {
namespace {

void validate(const PinnSettings& settings) {
  const auto at_most = [](const char* field, double value, double most) {
    if (value > most)
      throw Error(std::string("pinn: ") + field + " must be <= " + to_text(most) + ", got " + to_text(value));
  };
  constexpr double kMostSteps = 1e9;  // so that sums of two fit into an int
  at_most("steps", settings.steps, kMostSteps);
  at_most("first_event", settings.first_event, kMostSteps);
  at_most("event_period", settings.event_period, kMostSteps);
  at_most("width", settings.width, 32768);  // width x width elements, counted in an int
  at_most("other_lr", settings.other_lr, std::numeric_limits<float>::max());
}

double memory(const PinnSettings& settings) {
  constexpr double kFloat = 4, kGrid = 128 * 128;
  const double width = settings.width, depth = settings.depth;
  const double points = static_cast<double>(settings.interior_points) + settings.boundary_points;
  // Of every weight: itself, in f64 at the start, gradient, state, copies to measure the step. Of every unit at every
  // point: value and derivatives for the Laplacian, kept for the backward pass.
  return kFloat * (16 * width * width * (depth - 1) + 20 * points * width * depth + 3 * kGrid * width) +
         40.0 * settings.steps;
}

class PinnStudy final : public Study {
 public:
  std::string_view name() const override { return "pinn"; }
  std::string_view description() const override {
    return "a network learns a Helmholtz equation; at events, samples crowd into a small region (needs LibTorch)";
  }
  std::vector<Field> settings() const override { return describe_settings<PinnSettings>(); }
  Json complete(const Json& given) const override {
    const auto settings = settings_from<PinnSettings>(given, name());
    validate(settings);
    return settings_to_json(settings);
  }
  void check(const RunSpec& spec) const override {
    const auto settings = settings_from<PinnSettings>(spec.settings, name());
    if (settings.matrix_layers == "everything" && !std::holds_alternative<AdamWOptions>(spec.options))
      throw Error(std::string("pinn: matrix_layers must be hidden or all for a matrix rule, got 'everything' for ") +
                  rule_name(spec.options));
    check_options<float>(spec.options, settings.lr_scale, std::string(name()));
  }
  double memory(const Json& settings) const override {
    return lab::memory(settings_from<PinnSettings>(settings, name()));
  }
  std::string_view missing() const override { return pinn_missing(); }
  Json run(const RunSpec& spec, RunLog& log) const override { return run_pinn(spec, log); }
  std::vector<std::string> main_numbers() const override { return {"spike_peak", "final_loss", "final_rel_l2"}; }
  void report(const RunSet& runs, Document& document, Gnuplot& gnuplot) const override {
    report_pinn(runs, document, gnuplot);
  }
};

}  // namespace

const Study& pinn_study() {
  static const PinnStudy study;
  return study;
}

}  // namespace trasmuon::lab
