// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/findings.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "lab/report/figure.h"
#include "lab/report/format.h"
#include "lab/report/verdict.h"

namespace trasmuon::lab {

namespace {

// Share of the gain (log scale) that is there without bursts. Above kMost the gain is not a response to bursts, below
// kPart it is.
constexpr double kMost = 0.5, kPart = 0.2;

std::string scale_of(const SeedGroup& group) { return "lr × " + plain(setting_of(group, "lr_scale")); }

/// clip-sf against something that only makes the step smaller.
struct Control {
  std::string name;
  Comparison loss;
};

std::vector<Control> step_size_controls(const MechanisticGroups& groups) {
  std::vector<Control> controls;
  const auto add = [&](const std::string& name, const SeedGroup* damped, const SeedGroup* control) {
    const Comparison loss = compare(damped, control, "final_loss");
    if (loss.known()) controls.push_back({name, loss});
  };
  add("the same mean damping on all columns", groups.table("clip-sf"), groups.uniform_c());
  if (const SeedGroup* group = groups.smaller_step())
    add("noclip at " + scale_of(*group), groups.table("clip-sf"), group);
  const SeedGroup *damped = groups.tuned("clip-sf"), *plain_rule = groups.tuned("noclip");
  if (damped != nullptr && plain_rule != nullptr)
    add(fmt::format("noclip, each at its best learning rate of the sweep ({} and {}{})", scale_of(*damped),
                    scale_of(*plain_rule), groups.at_edge("noclip") ? ", an edge" : ""),
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
                         ? "A smaller step explains part of what damping does, contrary to the paper"
                         : "A smaller step does as much as damping, contrary to the paper";
  return fmt::format("{}: clip-sf's final loss is {}.", text, list);
}

/// Says so if the learning rate of the table puts noclip at a disadvantage.
std::string tuning_sentence(const MechanisticGroups& groups) {
  const SeedGroup* tuned = groups.tuned("noclip");
  const Comparison loss = compare(tuned, groups.table("clip-sf"), "final_loss");
  const Comparison spikes = compare(tuned, groups.table("clip-sf"), "spikes");
  if (tuned == nullptr || !loss.pairing.clearly_lower()) return "";
  return fmt::format(
      "The table's learning rate is a poor one for noclip: at {}{} it ends {} than clip-sf in the table ({}), with {} "
      "spikes against {}. A table at one shared learning rate overstates what damping adds.",
      scale_of(*tuned), groups.at_edge("noclip") ? " (the edge of the sweep)" : "", times_lower(loss.factor.median),
      loss.seeds(), human(spikes.method.median), human(spikes.baseline.median));
}

std::string burst_sentence(const BurstEffect& effect) {
  const double with = effect.with_bursts.median, without = effect.without.median;
  const std::string text =
      fmt::format("Damping (clip-sf against noclip) makes the final loss {} with bursts and {} without",
                  times_lower(with), times_lower(without));
  if (with <= 1.05) return text + ": it does not help under bursts.";
  if (effect.share > kMost)
    return text + ": most of the gain in loss is not a response to bursts. The paper has no such control.";
  if (effect.share > kPart) return text + ": part of the gain in loss is not a response to bursts.";
  return text + ": the gain in loss is a response to bursts.";
}

std::string spike_sentence(const BurstEffect& effect) {
  const double with = effect.spikes_with.median, without = effect.spikes_without.median;
  if (with <= 0) return fmt::format("Damping removes no spikes: the median seed has {} more.", human(std::abs(with)));
  return fmt::format(
      "In the median seed, damping removes {} spikes with bursts and {} without: {}.", human(with), human(without),
      without > 0.5 * with ? "most of this is not a response to bursts" : "this is a response to bursts");
}

std::string isotropic_sentence(const MechanisticGroups& groups) {
  const SeedGroup *damped = groups.at("isotropic-b", "clip-sf"), *noclip = groups.at("isotropic-b", "noclip");
  const Comparison loss = compare(damped, noclip, "final_loss"), spikes = compare(damped, noclip, "spikes");
  if (!loss.known()) return "";
  const BurstEffect effect = burst_effect(groups, "isotropic-b", "isotropic-b-no-bursts");
  return fmt::format(
      "Where no column stands out by itself (B a multiple of the identity), damping makes the final loss {} with "
      "bursts ({}){}; spikes with bursts are {}.",
      times_lower(loss.factor.median), loss.seeds(),
      effect.known() ? " and " + times_lower(effect.without.median) + " without" : "", spikes.text());
}

/// Methods of the table that are below TrasMuon in `key`.
std::string better_sentence(const MechanisticGroups& groups, const std::string& key, const std::string& what) {
  std::string list;
  for (const std::string& method : groups.methods("table")) {
    const Comparison versus = compare(groups.table(method), groups.table("clip-sf"), key);
    if (method == "clip-only" || !versus.pairing.clearly_lower()) continue;
    list += (list.empty() ? "" : ", ") + method_label(method) + " (" + human(versus.method.median) + ")";
  }
  if (list.empty()) return "";
  return fmt::format("{} than clip-sf ({}) under bursts: {}.", what,
                     human(spread_of(groups.table("clip-sf"), key).median), list);
}

std::string theory_sentence(const RunSet& runs) {
  double bound = 0, range = 0;
  std::set<std::filesystem::path> counted;  // parts share runs
  for (const SeedGroup& group : runs.groups) {
    for (const RunRecord& run : group.runs) {
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

/// Share of the spikes that damping removes.
double spikes_saved(const MechanisticGroups& groups, bool fix_v) {
  const double before = spread_of(groups.table("noclip", fix_v), "spikes").median;
  return 1 - spread_of(groups.table("clip-sf", fix_v), "spikes").median / before;
}

class Claims {
 public:
  Table table{"The paper's claims", {{"claim", false}, {"these runs", false}, {"verdict", false}}, {}};

  void add(const std::string& claim, const std::string& measured, Verdict verdict) {
    table.rows.push_back({{claim}, {measured}, claim_verdict(verdict)});
  }
};

void claim_damping(const MechanisticGroups& groups, Claims& claims) {
  const SeedGroup *damped = groups.table("clip-sf"), *noclip = groups.table("noclip"),
                  *normuon = groups.table("normuon");
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
  const Comparison mixed = compare(groups.table("clip-sf", false), groups.table("noclip", false), "final_loss");
  if (!mixed.known() || !loss.known()) return;
  const bool loss_less = std::log(mixed.factor.median) < 0.5 * std::log(loss.factor.median);
  const bool spikes_less = spikes_saved(groups, false) < 0.5 * spikes_saved(groups, true);
  claims.add(
      "With a mixed column basis (fix_v = false) the advantage diminishes",
      fmt::format(
          "final loss {} with the basis kept, {} with it mixed; {} and {} fewer spikes. Criterion: less than half",
          times_lower(loss.factor.median), times_lower(mixed.factor.median), human_percent(spikes_saved(groups, true)),
          human_percent(spikes_saved(groups, false))),
      yes_or_no(loss_less && spikes_less));
}

void claim_closed_loop(const MechanisticGroups& groups, Claims& claims) {
  const ClosedLoop loop = closed_loop(groups.table("clip-sf"));
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

Table mechanistic_claims(const MechanisticGroups& groups) {
  Claims claims;
  claim_damping(groups, claims);
  claim_closed_loop(groups, claims);
  const BurstEffect effect = burst_effect(groups);
  if (effect.known() && effect.with_bursts.median > 1)
    claims.add(
        "The lower loss comes from suppressing bursts (implied)",
        fmt::format(
            "clip-sf against noclip: {} with bursts, {} without; {} of the gain, on a log scale, needs no burst",
            times_lower(effect.with_bursts.median), times_lower(effect.without.median), human_percent(effect.share)),
        effect.share > kMost   ? Verdict::not_reproduced
        : effect.share > kPart ? Verdict::in_part
                               : Verdict::reproduced);
  const std::vector<Control> controls = step_size_controls(groups);
  std::string text;
  for (const Control& control : controls)
    text += fmt::format("{}{}: {}", text.empty() ? "final loss against " : "; ", control.name, control.loss.seeds());
  if (!controls.empty()) claims.add("Not a trivial step-size reduction", text, judge_step_size(controls));
  return claims.table;
}

std::vector<std::string> mechanistic_findings(const MechanisticGroups& groups) {
  std::vector<std::string> findings;
  const BurstEffect effect = burst_effect(groups);
  if (effect.known()) findings.insert(findings.end(), {burst_sentence(effect), spike_sentence(effect)});
  const std::vector<Control> controls = step_size_controls(groups);
  if (!controls.empty()) findings.push_back(step_size_sentence(controls));
  findings.insert(
      findings.end(),
      {tuning_sentence(groups), isotropic_sentence(groups), better_sentence(groups, "spikes", "Fewer spikes"),
       better_sentence(groups, "final_loss", "A lower final loss"), theory_sentence(groups.runs())});
  std::erase(findings, "");
  return findings;
}

}  // namespace trasmuon::lab
