// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/evidence.h"

#include <fmt/format.h>

#include <cmath>

#include "lab/report/figures/figure.h"
#include "lab/report/format.h"

namespace trasmuon::lab {

namespace {

using Groups = std::vector<const SeedGroup*>;

constexpr double kHalfSpike = 0.5;

/// The geometric mean over groups, by seed; only of seeds that all of them have.
BySeed mean_outcome(const Groups& groups, const std::string& key) {
  BySeed mean;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const BySeed values = outcome_by_seed(groups[i], key);
    if (i == 0) mean = values;
    std::erase_if(mean, [&](const auto& item) { return !values.contains(item.first); });
    if (i > 0)
      for (auto& [seed, value] : mean) value *= values.at(seed);
  }
  for (auto& [seed, value] : mean) value = std::pow(value, 1.0 / static_cast<double>(groups.size()));
  return mean;
}

Outcome outcome(const BySeed& treated, const BySeed& control, double shift = 0) {
  return {quantile(values_of(treated), 0.5) - shift, quantile(values_of(control), 0.5) - shift,
          paired_effect(treated, control)};
}

std::string scaled(double scale) { return "lr × " + plain(scale); }

}  // namespace

BySeed outcome_by_seed(const SeedGroup* group, const std::string& key) {
  BySeed values = by_seed(group, key);
  if (key == "spikes")
    for (auto& [seed, value] : values) value += kHalfSpike;
  return values;
}

std::vector<std::string> damped_methods(const MechanisticGroups& groups) {
  std::vector<std::string> methods = groups.methods("damping");
  if (methods.empty() && groups.table("clip-sf") != nullptr) methods = {"clip-sf"};
  return methods;
}

Evidence::Evidence(const MechanisticGroups& groups) {
  add("noclip", Question::effect, "noclip", "NorMuon", {groups.table("noclip")}, {groups.table("normuon")});
  for (const std::string& method : damped_methods(groups)) {
    loops_.emplace(method, ClosedLoop(groups.table(method)));
    add_method(groups, method);
    add_response(method);
  }
  add_others(groups);
  std::vector<PairedEffect*> effects;
  for (Contrast& contrast : contrasts_) effects.insert(effects.end(), {&contrast.spikes.effect, &contrast.loss.effect});
  std::erase_if(effects, [](const PairedEffect* effect) { return !effect->known(); });
  comparisons_ = effects.size();
  adjust_for_all(effects);
}

void Evidence::add_method(const MechanisticGroups& groups, const std::string& method) {
  const SeedGroup* damped = groups.table(method);
  for (const BasisPair& bases : kBasisPairs)
    add(method, Question::effect, row_name(method, bases), row_name("noclip", bases), {groups.table(method, bases)},
        {groups.table("noclip", bases)});
  add(method, Question::effect, method + ", no bursts", "noclip, no bursts", {groups.at("no-bursts", method)},
      {groups.at("no-bursts", "noclip")});
  for (const bool bursts : {true, false}) {
    const std::string place = bursts ? ", B = b I" : ", B = b I, no bursts";
    const Json settings = {{"bursts", bursts}};
    add(method, Question::effect, method + place, "noclip" + place, {groups.at("isotropic-b", method, settings)},
        {groups.at("isotropic-b", "noclip", settings)});
  }
  for (const BasisPair& bases : kBasisPairs) add_advantage(groups, method, bases);

  const auto with_damping = [&](const char* control) {
    return Groups{groups.at("damping", method, {{"damping", control}})};
  };
  add(method, Question::bursts, method, kBlindControl, {damped}, with_damping("blind"));
  const auto phase = [&](const std::string& part, int value) {
    return groups.at(part, method, {{"burst_phase", value}});
  };
  add(method, Question::bursts, "gate every 2nd step, meets every burst", "the same, meets none", {phase("gate-2", 0)},
      {phase("gate-2", 5)});
  Groups others;
  for (const int value : {1, 3, 7, 9})
    if (const SeedGroup* group = phase("gate-10", value)) others.push_back(group);
  const SeedGroup *meets = phase("gate-10", 0), *middle = phase("gate-10", 5);
  Groups none = others;
  if (middle != nullptr) none.push_back(middle);
  if (!none.empty())
    add(method, Question::bursts, "gate every 10th step, meets every burst",
        fmt::format("the same, meets none ({} phases)", none.size()), {meets}, none);
  if (!others.empty())
    add(method, Question::placebo, "gate every 10th step, 5 steps from the bursts", "the same, in other phases",
        {middle}, others);
  add(method, Question::columns, method, "c in other columns", {damped}, with_damping("permuted"));
  add_step_sizes(groups, method);

  for (const auto& [coefficients, steps] : {std::pair{"keller", 8}, {"polar_express", 5}, {"polar_express", 8}}) {
    const Json settings = {{"coefficients", coefficients}, {"ns_steps", steps}};
    const std::string name = fmt::format("{}, {} steps", coefficients, steps);
    const SeedGroup* noclip = groups.at("newton-schulz", "noclip", settings);
    add(method, Question::orthogonalization, method + ", keller, 5 steps", "noclip, " + name, {damped}, {noclip});
    add(method, Question::orthogonalization, method + ", " + name, "noclip, " + name,
        {groups.at("newton-schulz", method, settings)}, {noclip});
  }
}

void Evidence::add_others(const MechanisticGroups& groups) {
  for (const std::string& method : groups.methods("table")) {
    if (method == "clip-sf" || method == "noclip" || method == "normuon") continue;
    add("clip-sf", Question::others, method_label(method), "clip-sf", {groups.table(method)},
        {groups.table("clip-sf")});
  }
}

void Evidence::add_step_sizes(const MechanisticGroups& groups, const std::string& method) {
  const SeedGroup* damped = groups.table(method);
  add(method, Question::step_size, method, "mean of c in all columns", {damped},
      {groups.at("damping", method, {{"damping", "mean"}})});
  const auto sweep = [&](const std::string& which, double scale) {
    return Groups{groups.at("lr-sweep", which, {{"lr_scale", scale}})};
  };
  const auto edge = [&](const std::string& which, double scale) {
    return groups.at_edge(which, scale) ? " (edge of the sweep)" : "";
  };
  if (const auto scale = groups.matching_scale("noclip", method))
    add(method, Question::step_size, method,
        "noclip, " + scaled(*scale) + ", the cut that matches its loss" + edge("noclip", *scale), {damped},
        sweep("noclip", *scale));
  const auto best = groups.best_scale("noclip"), own = groups.best_scale(method);
  if (best)
    add(method, Question::step_size, method, "noclip, " + scaled(*best) + ", the best cut" + edge("noclip", *best),
        {damped}, sweep("noclip", *best));
  if (best && own)
    add(method, Question::step_size, method + ", " + scaled(*own) + ", tuned" + edge(method, *own),
        "noclip, " + scaled(*best) + ", tuned" + edge("noclip", *best), sweep(method, *own), sweep("noclip", *best));
  for (const SeedGroup* noclip : find_groups(groups.runs(), "decay", "noclip")) {
    const Json end = setting_of(*noclip, "lr_end");
    if (!end.is_number()) continue;
    const std::string decay = ", lr decays to " + human_percent(end);
    add(method, Question::step_size, method, "noclip" + decay, {damped}, {noclip});
    add(method, Question::step_size, method + decay, "noclip" + decay, {groups.at("decay", method, {{"lr_end", end}})},
        {noclip});
  }
}

void Evidence::add(const std::string& method, Question question, const std::string& treated, const std::string& control,
                   const Groups& treated_groups, const Groups& control_groups) {
  Contrast contrast{.method = method, .question = question, .treated = treated, .control = control};
  contrast.spikes = outcome(mean_outcome(treated_groups, "spikes"), mean_outcome(control_groups, "spikes"), kHalfSpike);
  contrast.loss = outcome(mean_outcome(treated_groups, "final_median"), mean_outcome(control_groups, "final_median"));
  if (contrast.spikes.effect.known()) contrasts_.push_back(std::move(contrast));
}

/// The advantage over noclip in the paper's main bases, as a ratio, against that in other ones.
void Evidence::add_advantage(const MechanisticGroups& groups, const std::string& method, const BasisPair& bases) {
  if (is_kept(bases)) return;
  const auto advantage = [&](const BasisPair& where, const std::string& key) {
    return ratios(outcome_by_seed(groups.table(method, where), key),
                  outcome_by_seed(groups.table("noclip", where), key));
  };
  Contrast contrast{.method = method,
                    .question = Question::effect,
                    .treated = row_name(method + " / noclip", kKept),
                    .control = row_name(method + " / noclip", bases)};
  contrast.spikes = outcome(advantage(kKept, "spikes"), advantage(bases, "spikes"));
  contrast.loss = outcome(advantage(kKept, "final_median"), advantage(bases, "final_median"));
  if (contrast.spikes.effect.known()) contrasts_.push_back(std::move(contrast));
}

void Evidence::add_response(const std::string& method) {
  const ClosedLoop& loop = closed_loop(method);
  if (!loop.known()) return;
  const PhaseResponse &burst = loop.at(0), placebo = loop.placebo();
  const auto add_share = [&](const std::string& what, const BySeed& at_burst, const BySeed& elsewhere) {
    Contrast contrast{.method = method,
                      .question = Question::response,
                      .treated = what + " at bursts",
                      .control = what + " in other steps"};
    contrast.spikes = outcome(at_burst, elsewhere);
    if (contrast.spikes.effect.known()) contrasts_.push_back(std::move(contrast));
  };
  add_share("r_max rises", burst.energy_rises, placebo.energy_rises);
  add_share("c_used_min falls", burst.lowest_falls, placebo.lowest_falls);
  add_share("c of the column hit falls", burst.hit_falls, placebo.hit_falls);
}

const ClosedLoop& Evidence::closed_loop(const std::string& method) const {
  static const ClosedLoop kNone(nullptr);
  const auto found = loops_.find(method);
  return found == loops_.end() ? kNone : found->second;
}

std::vector<const Contrast*> Evidence::of(const std::string& method, Question question) const {
  std::vector<const Contrast*> found;
  for (const Contrast& contrast : contrasts_)
    if (contrast.method == method && contrast.question == question) found.push_back(&contrast);
  return found;
}

const Contrast* Evidence::find(const std::string& method, Question question, const std::string& control) const {
  for (const Contrast* contrast : of(method, question))
    if (contrast->control == control) return contrast;
  return nullptr;
}

}  // namespace trasmuon::lab
