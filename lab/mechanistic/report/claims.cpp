// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/claims.h"

#include <fmt/format.h>

#include "lab/mechanistic/report/findings.h"
#include "lab/report/format.h"

namespace trasmuon::lab {

namespace {

using Effects = std::vector<const PairedEffect*>;

enum class Quantity { spikes, loss };

const Outcome& outcome(const Contrast& contrast, Quantity quantity) {
  return quantity == Quantity::spikes ? contrast.spikes : contrast.loss;
}

Effects effects(const std::vector<const Contrast*>& contrasts, Quantity quantity) {
  Effects list;
  for (const Contrast* contrast : contrasts) list.push_back(&outcome(*contrast, quantity).effect);
  return list;
}

std::string medians(const Outcome& outcome) {
  return fmt::format("{} against {}", human(outcome.treated), human(outcome.control));
}

/// "clearly lower than A (× 0.2 [...]); not than B (× 1.1 [...])". One contrast comes with its medians.
std::string described(const std::vector<const Contrast*>& contrasts, Quantity quantity) {
  if (contrasts.size() == 1) {
    const Outcome& numbers = outcome(*contrasts.front(), quantity);
    return fmt::format("{} against {}: {}, {}", contrasts.front()->treated, contrasts.front()->control,
                       medians(numbers), numbers.effect.text());
  }
  std::string lower, others;
  for (const Contrast* contrast : contrasts) {
    const Outcome& numbers = outcome(*contrast, quantity);
    std::string& list = numbers.effect.clearly_lower() ? lower : others;
    list += fmt::format("{}{} against {} ({})", list.empty() ? "" : "; ", contrast->treated, contrast->control,
                        numbers.effect.text());
  }
  return (lower.empty() ? "Clearly lower nowhere" : "Clearly lower: " + lower) +
         (others.empty() ? "." : ". Not clearly lower: " + others + ".");
}

class ClaimTable {
 public:
  explicit ClaimTable(const std::string& caption)
      : table_{caption, {{"claim", false}, {"these runs", false}, {"verdict", false}}, {}} {}

  void add(const std::string& claim, const std::string& measured, Verdict verdict) {
    if (verdict != Verdict::unknown) table_.rows.push_back({{claim}, {measured}, claim_verdict(verdict)});
  }
  /// The treated row of every contrast must be lower.
  void add_lower(const std::string& claim, const std::vector<const Contrast*>& contrasts, Quantity quantity) {
    add(claim, described(contrasts, quantity), judge_lower_than_all(effects(contrasts, quantity)));
  }
  Table take() { return std::move(table_); }

 private:
  Table table_;
};

std::vector<const Contrast*> one(const Contrast* contrast) {
  return contrast == nullptr ? std::vector<const Contrast*>() : std::vector{contrast};
}

/// An effect answers bursts if a gate that meets them does clearly better than every gate that does not, and if c
/// computed without them keeps little of the effect. Without an effect there is nothing to explain.
void add_answer(const std::string& claim, const Evidence& evidence, const std::string& method, Quantity quantity,
                ClaimTable& claims) {
  constexpr double kMost = 0.5;
  const Contrast* effect = evidence.find(method, Question::effect, "noclip");
  const Contrast* blind = evidence.find(method, Question::bursts, kBlindControl);
  const auto contrasts = evidence.of(method, Question::bursts);
  if (effect == nullptr || contrasts.empty() || !outcome(*effect, quantity).effect.clearly_lower()) return;
  Verdict verdict = judge_lower_than_all(effects(contrasts, quantity));
  std::string text = described(contrasts, quantity);
  if (blind != nullptr) {
    const double kept = kept_share(outcome(*effect, quantity).effect.ratio, outcome(*blind, quantity).effect.ratio);
    text += fmt::format(" With c computed as if there were no bursts, {} of the effect remain (log scale).",
                        human_percent(kept));
    if (kept > kMost) verdict = Verdict::not_reproduced;
  }
  claims.add(claim, text, verdict);
}

/// The same contrasts for the paper's method and for others.
void add_damping(const Evidence& evidence, const std::string& method, ClaimTable& claims) {
  const auto itself = one(evidence.find(method, Question::effect, "noclip"));
  claims.add_lower("Damping lowers the number of spikes", itself, Quantity::spikes);
  claims.add_lower("Damping lowers the final loss", itself, Quantity::loss);
  add_answer("The fewer spikes are an answer to bursts (implied)", evidence, method, Quantity::spikes, claims);
  add_answer("The lower loss is an answer to bursts (implied)", evidence, method, Quantity::loss, claims);
}

void add_step_size(const Evidence& evidence, const std::string& method, ClaimTable& claims) {
  const auto controls = evidence.of(method, Question::step_size);
  claims.add_lower("Not a trivial step-size reduction: final loss", controls, Quantity::loss);
  claims.add_lower("Not a trivial step-size reduction: spikes", controls, Quantity::spikes);
}

/// The advantage must be smaller elsewhere, in spikes and in loss.
void add_bases(const Evidence& evidence, ClaimTable& claims) {
  const auto advantage = [&](const BasisPair& bases) {
    return evidence.find("clip-sf", Question::effect, row_name("clip-sf / noclip", bases));
  };
  const auto smaller_in = [](const Contrast* contrast) {
    return judge_lower_than_all(Effects{&contrast->spikes.effect, &contrast->loss.effect});
  };
  if (const Contrast* mixed = advantage(kMixed)) {
    claims.add("With a mixed column basis (fix_V = false) the advantage diminishes",
               fmt::format("clip-sf / noclip with {} against {}: spikes {}, {}; loss {}, {}", bases_name(kKept),
                           bases_name(kMixed), medians(mixed->spikes), mixed->spikes.effect.text(),
                           medians(mixed->loss), mixed->loss.effect.text()),
               smaller_in(mixed));
  }
  const BasisPair on_columns = {"random", "columns"};
  const Contrast* elsewhere = evidence.find("clip-sf", Question::effect, row_name("noclip", on_columns));
  if (elsewhere == nullptr) return;
  claims.add("Damping helps where bursts hit columns (V random, as in the paper's text)",
             fmt::format("clip-sf against noclip: spikes {}, {}; loss {}, {}", medians(elsewhere->spikes),
                         elsewhere->spikes.effect.text(), medians(elsewhere->loss), elsewhere->loss.effect.text()),
             judge_lower_than_all(Effects{&elsewhere->spikes.effect, &elsewhere->loss.effect}));
}

/// Everything must happen more often at bursts than in the placebo steps, and in most bursts.
void add_closed_loop(const Evidence& evidence, const std::string& method, ClaimTable& claims) {
  const auto responses = evidence.of(method, Question::response);
  if (responses.empty()) return;
  const ClosedLoop& loop = evidence.closed_loop(method);
  std::string text =
      fmt::format("{} bursts, r_max × {} in the median, c_used_min {} to {}, c of the column hit {} to {}",
                  loop.events(), human(loop.rise()), human(loop.lowest_before()), human(loop.lowest_after()),
                  human(loop.hit_before()), human(loop.hit_after()));
  std::size_t more = 0;
  for (const Contrast* contrast : responses) {
    const Outcome& share = contrast->spikes;
    text += fmt::format("; {} in {}, in other steps in {} ({})", contrast->treated, human_percent(share.treated),
                        human_percent(share.control), share.effect.text());
    more += share.effect.clearly_higher() && share.treated >= 0.75;
  }
  claims.add("A burst raises the energy ratio, and a fall of c_used_min follows", text,
             more == responses.size() ? Verdict::reproduced
             : more > 0               ? Verdict::in_part
                                      : Verdict::not_reproduced);
}

/// "fewer spikes, lower loss"; "no clear difference".
std::string says(const Contrast& contrast) {
  const auto side = [](const PairedEffect& effect, const char* lower, const char* higher) -> std::string {
    return effect.clearly_lower() ? lower : effect.clearly_higher() ? higher : "";
  };
  const std::string spikes = side(contrast.spikes.effect, "fewer spikes", "more spikes");
  const std::string loss = side(contrast.loss.effect, "lower loss", "higher loss");
  if (spikes.empty() && loss.empty()) return "no clear difference";
  if (spikes.empty()) return loss + ", spikes not clearly different";
  return loss.empty() ? spikes + ", loss not clearly different" : spikes + ", " + loss;
}

}  // namespace

Table mechanistic_claims(const Evidence& evidence) {
  ClaimTable claims("The paper's claims");
  add_damping(evidence, "clip-sf", claims);
  add_step_size(evidence, "clip-sf", claims);
  if (const Contrast* same = evidence.find("noclip", Question::effect, "NorMuon"))
    claims.add("Without damping it behaves like NorMuon",
               fmt::format("spikes {}, {}; loss {}, {}", medians(same->spikes), same->spikes.effect.text(),
                           medians(same->loss), same->loss.effect.text()),
               judge_similar(Effects{&same->spikes.effect, &same->loss.effect}));
  add_bases(evidence, claims);
  add_closed_loop(evidence, "clip-sf", claims);
  return claims.take();
}

Table claims_about(const Evidence& evidence, const std::string& method) {
  ClaimTable claims("The same questions to " + method);
  add_damping(evidence, method, claims);
  const Contrast* effect = evidence.find(method, Question::effect, "noclip");
  if (effect != nullptr && effect->loss.effect.clearly_lower()) add_step_size(evidence, method, claims);
  add_closed_loop(evidence, method, claims);
  return claims.take();
}

Table contrast_table(const Evidence& evidence, const std::string& method, Question question,
                     const std::string& caption) {
  Table table{
      caption, {{"row", false}, {"against", false}, {"spikes", false}, {"late loss", false}, {"so", false}}, {}};
  for (const Contrast* contrast : evidence.of(method, question))
    table.rows.push_back({{contrast->treated},
                          {contrast->control},
                          {medians(contrast->spikes), contrast->spikes.effect.text()},
                          {medians(contrast->loss), contrast->loss.effect.text()},
                          {says(*contrast)}});
  return table;
}

}  // namespace trasmuon::lab
