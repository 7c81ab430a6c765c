// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/findings.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "lab/report/format.h"

namespace trasmuon::lab {

namespace {

const Contrast* effect_in(const Evidence& evidence, const BasisPair& bases) {
  return evidence.find("clip-sf", Question::effect, row_name("noclip", bases));
}

std::string percent_kept(const PairedEffect& effect, const PairedEffect& against_control) {
  return human_percent(kept_share(effect.ratio, against_control.ratio));
}

/// What V = I contributes to the table with the basis kept.
std::string basis_sentence(const Evidence& evidence) {
  const Contrast *kept = effect_in(evidence, kKept), *random = effect_in(evidence, {"random", "columns"});
  if (kept == nullptr || random == nullptr) return "";
  const PairedEffect &spikes = random->spikes.effect, &loss = random->loss.effect;
  const bool nothing = !spikes.clearly_lower() && !loss.clearly_lower();
  const bool little = loss.ratio > std::sqrt(kept->loss.effect.ratio);
  return fmt::format(
      "What V = I contributes: with V = I and bursts on columns, damping multiplies spikes by {} and the loss by {}. "
      "With "
      "V random, as in the paper's text, and bursts still on columns it multiplies them by {} and {}: {}.",
      human_factor(kept->spikes.effect.ratio), human_factor(kept->loss.effect.ratio), human_factor(spikes.ratio),
      human_factor(loss.ratio),
      nothing  ? "nothing is left, so that V = I makes the table"
      : little ? "little is left, so that V = I makes most of the table"
               : "it stays");
}

std::string burst_sentence(const Evidence& evidence, const std::string& method) {
  const Contrast* effect = evidence.find(method, Question::effect, "noclip");
  const Contrast* blind = evidence.find(method, Question::bursts, kBlindControl);
  if (effect == nullptr || blind == nullptr) return "";
  if (!effect->spikes.effect.clearly_lower() && !effect->loss.effect.clearly_lower()) return "";
  const auto all = evidence.of(method, Question::bursts);
  std::size_t fewer = 0, lower = 0;
  for (const Contrast* contrast : all) {
    fewer += contrast->spikes.effect.clearly_lower();
    lower += contrast->loss.effect.clearly_lower();
  }
  return fmt::format(
      "Does {} answer bursts? With c computed as if there were none, {} of its effect on spikes and {} of that on the "
      "loss remain (log scale). Of {} pairs in which one gate meets every burst and the other meets none, the first "
      "has "
      "clearly fewer spikes in {} and a clearly lower loss in {}.",
      method, percent_kept(effect->spikes.effect, blind->spikes.effect),
      percent_kept(effect->loss.effect, blind->loss.effect), all.size(), fewer, lower);
}

/// A method that sees the bursts and is no better for it.
std::string detector_sentence(const Evidence& evidence, const std::string& method) {
  const Contrast* effect = evidence.find(method, Question::effect, "noclip");
  const ClosedLoop& loop = evidence.closed_loop(method);
  if (effect == nullptr || !loop.known()) return "";
  const PairedEffect &spikes = effect->spikes.effect, &loss = effect->loss.effect;
  if (spikes.clearly_lower() || loss.clearly_lower()) return "";
  return fmt::format(
      "{} finds the bursts (c of the column hit falls from {} to {} in the median) and does not help: spikes × {} [{}, "
      "{}] and loss × {} [{}, {}] against noclip.",
      method, human(loop.hit_before()), human(loop.hit_after()), human_factor(spikes.ratio), human_factor(spikes.low),
      human_factor(spikes.high), human_factor(loss.ratio), human_factor(loss.low), human_factor(loss.high));
}

std::string columns_sentence(const Evidence& evidence, const std::string& method) {
  const Contrast* placebo = evidence.find(method, Question::columns, "c in other columns");
  const Contrast* effect = evidence.find(method, Question::effect, "noclip");
  if (placebo == nullptr || effect == nullptr || !effect->loss.effect.clearly_lower()) return "";
  return fmt::format(
      "Placebo: the same values of c in other columns keep {} of {}'s effect on the loss and give {} spikes against "
      "{}: "
      "{}.",
      percent_kept(effect->loss.effect, placebo->loss.effect), method, human(placebo->spikes.control),
      human(placebo->spikes.treated),
      placebo->loss.effect.clearly_lower() ? "which columns are damped matters"
                                           : "which columns are damped does not matter");
}

/// Controls that only change the step and do at least as well as the damped method at the table's learning rate.
std::string step_size_sentence(const Evidence& evidence, const std::string& method) {
  std::string better;
  for (const Contrast* contrast : evidence.of(method, Question::step_size)) {
    if (contrast->treated != method || contrast->loss.effect.clearly_lower()) continue;
    better += fmt::format("{}{} (loss {}, {} spikes)", better.empty() ? "" : "; ", contrast->control,
                          human(contrast->loss.control), human(contrast->spikes.control));
  }
  const auto all = evidence.of(method, Question::step_size);
  if (all.empty()) return "";
  if (better.empty()) return "No control that only changes the step reaches " + method + "'s loss.";
  return fmt::format(
      "Steps that are smaller in all columns and whose loss is not clearly above that of {} (loss {}, {} spikes): {}.",
      method, human(all.front()->loss.treated), human(all.front()->spikes.treated), better);
}

/// What is left of the advantage where both rules have the learning rate that suits them.
std::string tuned_sentence(const Evidence& evidence, const std::string& method) {
  for (const Contrast* contrast : evidence.of(method, Question::step_size)) {
    if (contrast->treated.find("tuned") == std::string::npos) continue;
    return fmt::format(
        "Each at its own learning rate, chosen on other seeds ({}; {}): loss × {}, spikes {} against {}.",
        contrast->treated, contrast->control, human_factor(contrast->loss.effect.ratio),
        human(contrast->spikes.treated), human(contrast->spikes.control));
  }
  return "";
}

std::string orthogonalization_sentence(const Evidence& evidence, const std::string& method) {
  std::string list;
  const auto all = evidence.of(method, Question::orthogonalization);
  for (const Contrast* contrast : all) {
    if (contrast->treated != method + ", keller, 5 steps" || !contrast->spikes.effect.clearly_higher()) continue;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", contrast->control, human(contrast->spikes.control));
  }
  if (list.empty()) return "";
  return fmt::format("Without any damping but with a better orthogonalization there are fewer spikes than {}'s {}: {}.",
                     method, human(all.front()->spikes.treated), list);
}

/// Rules of the table that are clearly below clip-sf.
std::string better_sentence(const Evidence& evidence, Outcome Contrast::*member, const std::string& what) {
  std::string list;
  double own = 0;
  for (const Contrast* contrast : evidence.of("clip-sf", Question::others)) {
    const Outcome& numbers = contrast->*member;
    own = numbers.control;
    if (numbers.effect.clearly_lower())
      list += fmt::format("{}{} ({} spikes, loss {})", list.empty() ? "" : ", ", contrast->treated,
                          human(contrast->spikes.treated), human(contrast->loss.treated));
  }
  return list.empty() ? "" : fmt::format("{} than clip-sf ({}) under bursts: {}.", what, human(own), list);
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

}  // namespace

double kept_share(double method_to_noclip, double method_to_control) {
  return std::log(method_to_noclip / method_to_control) / std::log(method_to_noclip);
}

std::vector<std::string> mechanistic_findings(const MechanisticGroups& groups, const Evidence& evidence) {
  std::vector<std::string> findings = {basis_sentence(evidence)};
  for (const std::string& method : damped_methods(groups))
    findings.insert(findings.end(), {burst_sentence(evidence, method), columns_sentence(evidence, method),
                                     detector_sentence(evidence, method)});
  findings.insert(
      findings.end(),
      {step_size_sentence(evidence, "clip-sf"), tuned_sentence(evidence, "clip-sf"),
       orthogonalization_sentence(evidence, "clip-sf"), better_sentence(evidence, &Contrast::spikes, "Fewer spikes"),
       better_sentence(evidence, &Contrast::loss, "A lower loss"), theory_sentence(groups.runs())});
  std::erase(findings, "");
  return findings;
}

}  // namespace trasmuon::lab
