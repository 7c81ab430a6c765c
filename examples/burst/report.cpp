// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace burst {
namespace {

double final_loss(const Trace& trace) { return trace.loss.back(); }
double spikes(const Trace& trace) { return trace.spikes; }

template <class Value>
double median(const Study& study, bool bursts, int method, Value value) {
  return quantile(study.over_seeds(bursts, method, value), 0.5);
}

/// "48 (38, 56)"
template <class Value>
std::string quartiles(const Study& study, bool bursts, int method, Value value, const char* format) {
  const std::vector<double> values = study.over_seeds(bursts, method, value);
  char text[96];
  std::snprintf(text, sizeof text, format, quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75));
  return text;
}

/// Table "Mechanistic study summary under fix_V = True" of the paper: medians.
const char* paper(int method) {
  switch (method) {
    case kNorMuon: return "44  1.3e+06";
    case kNoClip: return "48  1.1e+06";
    case kClipOnly: return "28  2.4e+05";
    case kClipSf: return "30  2.0e+05";
    default: return " -        -";
  }
}

void print_table(const Study& study, bool bursts) {
  std::printf("\n%s: median (quartiles) over %d seed%s\n", bursts ? "With bursts" : "Without bursts", study.seeds,
              study.seeds == 1 ? "" : "s");
  std::printf("%-20s %-14s %-28s %6s %10s", "", "spikes", "final loss", "mean c", "update RMS");
  std::printf(bursts ? "   paper: spikes, loss\n" : "\n");
  for (int method = 0; method < kMethodCount; ++method) {
    std::printf("%-20s %-14s %-28s %6.2f %10.1e", study.methods[method].name.c_str(),
                quartiles(study, bursts, method, spikes, "%.0f (%.0f, %.0f)").c_str(),
                quartiles(study, bursts, method, final_loss, "%.1e (%.1e, %.1e)").c_str(),
                median(study, bursts, method, [](const Trace& t) { return t.mean_c; }),
                median(study, bursts, method, [](const Trace& t) { return t.update_rms; }));
    std::printf(bursts ? "   %s\n" : "\n", paper(method));
  }
}

/// Two methods against each other, seed by seed.
struct Comparison {
  double loss_factor;  ///< median over the seeds of baseline / method: above 1 is better
  int lower_loss = 0, fewer_spikes = 0;
  double spikes_baseline, spikes_method;

  Comparison(const Study& study, bool bursts, int baseline, int method) {
    const auto before = study.over_seeds(bursts, baseline, final_loss);
    const auto after = study.over_seeds(bursts, method, final_loss);
    const auto spikes_before = study.over_seeds(bursts, baseline, spikes);
    const auto spikes_after = study.over_seeds(bursts, method, spikes);
    std::vector<double> factors;
    for (std::size_t seed = 0; seed < before.size(); ++seed) {
      factors.push_back(before[seed] / after[seed]);
      lower_loss += after[seed] < before[seed];
      fewer_spikes += spikes_after[seed] < spikes_before[seed];
    }
    loss_factor = quantile(factors, 0.5);
    spikes_baseline = quantile(spikes_before, 0.5);
    spikes_method = quantile(spikes_after, 0.5);
  }

  std::string loss_text() const {
    char text[64];
    const bool lower = loss_factor >= 1;
    std::snprintf(text, sizeof text, "%.1f times %s", lower ? loss_factor : 1 / loss_factor,
                  lower ? "lower" : "higher");
    return text;
  }
};

/// The method with the lowest median, or the methods: "Dion (2)".
template <class Value>
std::string best(const Study& study, bool bursts, Value value, const char* format) {
  double lowest = median(study, bursts, 0, value);
  for (int method = 1; method < kMethodCount; ++method) lowest = std::min(lowest, median(study, bursts, method, value));
  std::string names;
  for (int method = 0; method < kMethodCount; ++method) {
    if (median(study, bursts, method, value) != lowest) continue;
    names += (names.empty() ? "" : ", ") + study.methods[method].name;
  }
  char text[32];
  std::snprintf(text, sizeof text, format, lowest);
  return names + " (" + text + ")";
}

/// How much larger the loss is after a burst than before it; q over seeds and bursts.
double jump(const Study& study, int method, double q) {
  return quantile(
      study.over_bursts(true, method, [](const Trace& t, int step) { return t.loss[step] / t.loss[step - 1]; }), q);
}

void print_findings(const Study& study) {
  const Comparison damping(study, true, kNoClip, kClipSf), calm(study, false, kNoClip, kClipSf);
  const Comparison uniform(study, true, kNoClip, kUniform);
  const int n = study.seeds;
  std::printf("\nWhat the numbers say (factors are medians of the seeds' own ratios)\n");
  std::printf(
      "- Damping (clip-sf) against noclip, with bursts: spikes %.0f -> %.0f (fewer in %d of %d seeds), final loss\n"
      "  %s (lower in %d of %d). The paper's direction, fewer spikes and a lower loss, %s.\n",
      damping.spikes_baseline, damping.spikes_method, damping.fewer_spikes, n, damping.loss_text().c_str(),
      damping.lower_loss, n,
      2 * damping.fewer_spikes > n && 2 * damping.lower_loss > n ? "holds here" : "does not hold here");
  std::printf(
      "- One burst multiplies the loss by %.2f in the median, one in ten by more than %.2f, with noclip;\n"
      "  by %.2f and %.2f with clip-sf.\n",
      jump(study, kNoClip, 0.5), jump(study, kNoClip, 0.9), jump(study, kClipSf, 0.5), jump(study, kClipSf, 0.9));
  std::printf(
      "- Control, a uniformly smaller step (noclip at lr x %.2f, the mean c): spikes %.0f -> %.0f (fewer in %d of "
      "%d),\n"
      "  final loss %s (lower in %d of %d).\n",
      median(study, true, kClipSf, [](const Trace& t) { return t.mean_c; }), uniform.spikes_baseline,
      uniform.spikes_method, uniform.fewer_spikes, n, uniform.loss_text().c_str(), uniform.lower_loss, n);
  std::printf("- Control, no bursts at all: damping makes the final loss %s than noclip's (lower in %d of %d).\n",
              calm.loss_text().c_str(), calm.lower_loss, n);
  if (damping.loss_factor > 1 && calm.loss_factor > 1) {
    const double share = std::log(calm.loss_factor) / std::log(damping.loss_factor);
    std::printf("  On a log scale that is %.0f %% of its gain with bursts: ", 100 * share);
    if (share <= 0.5) std::printf("most of the gain needs the bursts.\n");
    else
      std::printf(
          "most of the lower loss is no answer to bursts. Columns with\n"
          "  large momentum are damped without any burst too (mean c %.2f).\n",
          median(study, false, kClipSf, [](const Trace& t) { return t.mean_c; }));
  }
  std::printf("- With bursts: fewest spikes %s; lowest final loss %s.\n", best(study, true, spikes, "%.0f").c_str(),
              best(study, true, final_loss, "%.1e").c_str());
  std::printf("  Without: fewest spikes %s; lowest final loss %s.\n", best(study, false, spikes, "%.0f").c_str(),
              best(study, false, final_loss, "%.1e").c_str());
}

}  // namespace

void print_report(const Study& study) {
  print_table(study, true);
  print_table(study, false);
  std::printf(
      "\nA spike is a loss above 1.4 times the median of the 20 before it; mean c is the mean damping (1 = none).\n"
      "All step with update RMS %.0e before damping: NorMuon and TrasMuon by construction, Dion through lr = %g,\n"
      "Muon through lr = %.3f, fitted without bursts; AdamW's RMS starts at its lr, %.0e, and falls as it converges.\n"
      "The paper does not give this experiment's settings; these were found by a search with its table in view, so\n"
      "agreement with the table is no evidence of its own.\n",
      kUpdateRms, std::get<trasmuon::DionOptions>(study.methods[kDion].options).lr,
      std::get<trasmuon::MuonOptions>(study.methods[kMuon].options).lr,
      std::get<trasmuon::AdamWOptions>(study.methods[kAdamW].options).lr);
  print_findings(study);
}

}  // namespace burst
