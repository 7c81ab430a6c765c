// SPDX-License-Identifier: Apache-2.0
#include "lab/report/mechanistic_findings.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "lab/report/figure.h"
#include "lab/report/format.h"
#include "lab/report/verdict.h"

namespace trasmuon::lab {

namespace {

// Of a gain, on a log scale, what is there without bursts: above kMost it is no answer to them, below kPart it is one.
constexpr double kMost = 0.5, kPart = 0.2;

std::string scale_of(const Cell& cell) { return "lr × " + plain(setting_of(cell, "lr_scale")); }

/// clip-sf against something that only makes the step smaller.
struct Control {
  std::string name;
  Comparison loss;
};

std::vector<Control> step_size_controls(const MechanisticCells& cells) {
  std::vector<Control> controls;
  const auto add = [&](const std::string& name, const Cell* damped, const Cell* control) {
    const Comparison loss = compare(damped, control, "final_loss");
    if (loss.known()) controls.push_back({name, loss});
  };
  add("the same mean damping on all columns", cells.table("clip-sf"), cells.uniform_c());
  if (const Cell* cell = cells.smaller_step()) add("noclip at " + scale_of(*cell), cells.table("clip-sf"), cell);
  const Cell *damped = cells.tuned("clip-sf"), *plain_rule = cells.tuned("noclip");
  if (damped != nullptr && plain_rule != nullptr)
    add(fmt::format("noclip, each at its best learning rate of the sweep ({} and {}{})", scale_of(*damped),
                    scale_of(*plain_rule), cells.at_edge("noclip") ? ", an edge" : ""),
        damped, plain_rule);
  return controls;
}

/// Reproduced if clip-sf is below all of them, in part if below some.
Verdict judge_step_size(const std::vector<Control>& controls) {
  std::size_t mostly = 0, clearly = 0;
  for (const Control& control : controls) {
    mostly += control.loss.pairing.mostly_lower();
    clearly += control.loss.pairing.clearly_lower();
  }
  if (clearly == controls.size()) return Verdict::reproduced;
  if (mostly == controls.size()) return Verdict::indicated;
  return mostly > 0 ? Verdict::in_part : Verdict::not_reproduced;
}

std::string step_size_sentence(const std::vector<Control>& controls) {
  std::string list;
  for (std::size_t i = 0; i < controls.size(); ++i) {
    const Comparison& loss = controls[i].loss;
    list += fmt::format("{}{} ({} seeds) than with {}",
                        i == 0                     ? ""
                        : i + 1 == controls.size() ? ", and "
                                                   : ", ",
                        times_lower(loss.factor.median), loss.seeds(), controls[i].name);
  }
  const Verdict verdict = judge_step_size(controls);
  const char* text = verdict == Verdict::reproduced  ? "Damping is not just a smaller step"
                     : verdict == Verdict::indicated ? "Damping seems to be more than a smaller step"
                     : verdict == Verdict::in_part
                         ? "A smaller step explains part of what damping does, against the paper"
                         : "A smaller step does as much as damping, against the paper";
  return fmt::format("{}: clip-sf's final loss is {}.", text, list);
}

/// Where the table's learning rate hides something.
std::string tuning_sentence(const MechanisticCells& cells) {
  const Cell* tuned = cells.tuned("noclip");
  const Comparison loss = compare(tuned, cells.table("clip-sf"), "final_loss");
  const Comparison spikes = compare(tuned, cells.table("clip-sf"), "spikes");
  if (tuned == nullptr || !loss.pairing.clearly_lower()) return "";
  return fmt::format(
      "The table's learning rate is a poor one for noclip: at {}{} it ends {} than clip-sf in the table ({}), with {} "
      "spikes against {}. A table at one shared learning rate overstates what damping adds.",
      scale_of(*tuned), cells.at_edge("noclip") ? " (the edge of the sweep)" : "", times_lower(loss.factor.median),
      loss.seeds(), human(spikes.method.median), human(spikes.baseline.median));
}

std::string burst_sentence(const BurstEffect& effect) {
  const double with = effect.with_bursts.median, without = effect.without.median;
  const std::string text =
      fmt::format("Damping (clip-sf against noclip) makes the final loss {} with bursts and {} without",
                  times_lower(with), times_lower(without));
  if (with <= 1.05) return text + ": it does not pay under bursts.";
  if (effect.share > kMost)
    return text + ": most of the gain in loss is no answer to bursts. The paper has no such control.";
  if (effect.share > kPart) return text + ": part of the gain in loss is no answer to bursts.";
  return text + ": the gain in loss is an answer to bursts.";
}

std::string spike_sentence(const BurstEffect& effect) {
  const double with = effect.spikes_with.median, without = effect.spikes_without.median;
  if (with <= 0) return fmt::format("Damping takes no spikes away: the median seed has {} fewer.", human(with));
  return fmt::format("Damping takes {} spikes away in the median seed with bursts and {} without: {}.", human(with),
                     human(without),
                     without > 0.5 * with ? "most of this is no answer to bursts" : "this is an answer to bursts");
}

std::string isotropic_sentence(const MechanisticCells& cells) {
  const Cell *damped = cells.at("isotropic-b", "clip-sf"), *noclip = cells.at("isotropic-b", "noclip");
  const Comparison loss = compare(damped, noclip, "final_loss"), spikes = compare(damped, noclip, "spikes");
  if (!loss.known()) return "";
  const BurstEffect effect = burst_effect(cells, "isotropic-b", "isotropic-b-no-bursts");
  return fmt::format(
      "Where no column stands out by itself (B a multiple of the identity), damping makes the final loss {} with "
      "bursts ({}){}; spikes with bursts are {}.",
      times_lower(loss.factor.median), loss.seeds(),
      effect.known() ? " and " + times_lower(effect.without.median) + " without" : "", spikes.text());
}

/// Methods of the table that are below TrasMuon in `key`.
std::string better_sentence(const MechanisticCells& cells, const std::string& key, const std::string& what) {
  std::string list;
  for (const std::string& method : cells.methods("table")) {
    const Comparison versus = compare(cells.table(method), cells.table("clip-sf"), key);
    if (method == "clip-only" || !versus.pairing.clearly_lower()) continue;
    list += (list.empty() ? "" : ", ") + method_label(method) + " (" + human(versus.method.median) + ")";
  }
  if (list.empty()) return "";
  return fmt::format("{} than clip-sf ({}) under bursts: {}.", what,
                     human(spread_of(cells.table("clip-sf"), key).median), list);
}

std::string theory_sentence(const RunSet& runs) {
  double bound = 0, range = 0;
  std::set<std::filesystem::path> counted;  // parts share runs
  for (const Cell& cell : runs.cells) {
    for (const RunRecord& run : cell.runs) {
      if (std::string_view(rule_name(run.spec.options)) != "trasmuon" || std::isnan(run.value("bound_violations")))
        continue;
      if (!counted.insert(run.folder).second) continue;
      bound += run.value("bound_violations");
      range += run.value("c_violations");
    }
  }
  if (counted.empty()) return "";
  return fmt::format(
      "Theory: in all steps of all {} TrasMuon runs together, the bound ‖ΔW‖ ≤ η√(mn) on the update was broken {} "
      "times and c left [c_min, 1] {} times.",
      counted.size(), human(bound), human(range));
}

/// Share of the spikes that damping takes away.
double spikes_saved(const MechanisticCells& cells, bool fix_v) {
  const double before = spread_of(cells.table("noclip", fix_v), "spikes").median;
  return 1 - spread_of(cells.table("clip-sf", fix_v), "spikes").median / before;
}

class Claims {
 public:
  Table table{"The paper's claims", {{"claim", false}, {"these runs", false}, {"verdict", false}}, {}};

  void add(const std::string& claim, const std::string& measured, Verdict verdict) {
    table.rows.push_back({{claim}, {measured}, claim_verdict(verdict)});
  }
};

void claim_damping(const MechanisticCells& cells, Claims& claims) {
  const Cell *damped = cells.table("clip-sf"), *noclip = cells.table("noclip"), *normuon = cells.table("normuon");
  const Comparison spikes = compare(damped, noclip, "spikes"), loss = compare(damped, noclip, "final_loss");
  if (spikes.known()) {
    claims.add("Damping lowers the number of spikes", "clip-sf against noclip: " + spikes.text(),
               judge(Relation::lower, spikes));
    claims.add("Damping lowers the final loss", "clip-sf against noclip: " + loss.text(), judge(Relation::lower, loss));
  }
  const Comparison same_spikes = compare(noclip, normuon, "spikes"), same_loss = compare(noclip, normuon, "final_loss");
  if (same_spikes.known()) {
    claims.add(
        "Without damping it behaves like NorMuon",
        fmt::format("spikes {} and {}, final loss {} and {}", human(same_spikes.method.median),
                    human(same_spikes.baseline.median), human(same_loss.method.median),
                    human(same_loss.baseline.median)),
        yes_or_no(overlap(same_spikes.method, same_spikes.baseline) && overlap(same_loss.method, same_loss.baseline)));
  }
  const Comparison mixed = compare(cells.table("clip-sf", false), cells.table("noclip", false), "final_loss");
  if (!mixed.known() || !loss.known()) return;
  const bool loss_less = std::log(mixed.factor.median) < 0.5 * std::log(loss.factor.median);
  const bool spikes_less = spikes_saved(cells, false) < 0.5 * spikes_saved(cells, true);
  claims.add(
      "With a mixed column basis (fix_v = false) the advantage diminishes",
      fmt::format(
          "final loss {} with the basis kept, {} with it mixed; {} and {} fewer spikes. Less than half is asked for",
          times_lower(loss.factor.median), times_lower(mixed.factor.median), human_percent(spikes_saved(cells, true)),
          human_percent(spikes_saved(cells, false))),
      yes_or_no(loss_less && spikes_less));
}

void claim_closed_loop(const MechanisticCells& cells, Claims& claims) {
  const ClosedLoop loop = closed_loop(cells.table("clip-sf"));
  if (loop.events == 0) return;
  const bool rises = loop.in_most(loop.energy_rises), falls = loop.in_most(loop.lowest_falls),
             hit = loop.in_most(loop.hit_falls);
  claims.add(
      "A burst raises the energy ratio, and a fall of c_used_min follows",
      fmt::format("of {} bursts, r_max rises in {} (median × {}), c_used_min falls in {} (median {} to {}), c of the "
                  "column hit falls in {} ({} to {})",
                  loop.events, human_percent(static_cast<double>(loop.energy_rises) / static_cast<double>(loop.events)),
                  human(loop.rise),
                  human_percent(static_cast<double>(loop.lowest_falls) / static_cast<double>(loop.events)),
                  human(loop.lowest_before), human(loop.lowest_after),
                  human_percent(static_cast<double>(loop.hit_falls) / static_cast<double>(loop.events)),
                  human(loop.hit_before), human(loop.hit_after)),
      rises && falls            ? Verdict::reproduced
      : rises && (hit || falls) ? Verdict::in_part
                                : Verdict::not_reproduced);
}

}  // namespace

Table mechanistic_claims(const MechanisticCells& cells) {
  Claims claims;
  claim_damping(cells, claims);
  claim_closed_loop(cells, claims);
  const BurstEffect effect = burst_effect(cells);
  if (effect.known() && effect.with_bursts.median > 1)
    claims.add(
        "The lower loss comes from suppressing bursts (implied)",
        fmt::format(
            "clip-sf against noclip: {} with bursts, {} without; {} of the gain, on a log scale, needs no burst",
            times_lower(effect.with_bursts.median), times_lower(effect.without.median), human_percent(effect.share)),
        effect.share > kMost   ? Verdict::not_reproduced
        : effect.share > kPart ? Verdict::in_part
                               : Verdict::reproduced);
  const std::vector<Control> controls = step_size_controls(cells);
  std::string text;
  for (const Control& control : controls)
    text += fmt::format("{}{}: {}", text.empty() ? "final loss against " : "; ", control.name, control.loss.seeds());
  if (!controls.empty()) claims.add("Not a trivial step-size reduction", text, judge_step_size(controls));
  return claims.table;
}

std::vector<std::string> mechanistic_findings(const MechanisticCells& cells) {
  std::vector<std::string> findings;
  const BurstEffect effect = burst_effect(cells);
  if (effect.known()) findings.insert(findings.end(), {burst_sentence(effect), spike_sentence(effect)});
  const std::vector<Control> controls = step_size_controls(cells);
  if (!controls.empty()) findings.push_back(step_size_sentence(controls));
  findings.insert(findings.end(),
                  {tuning_sentence(cells), isotropic_sentence(cells), better_sentence(cells, "spikes", "Fewer spikes"),
                   better_sentence(cells, "final_loss", "A lower final loss"), theory_sentence(cells.runs())});
  std::erase(findings, "");
  return findings;
}

}  // namespace trasmuon::lab
