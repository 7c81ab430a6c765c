// SPDX-License-Identifier: Apache-2.0
#include "lab/language/report/report.h"

#include <fmt/format.h>

#include <map>

#include "lab/language/report/claims.h"
#include "lab/language/report/comparisons.h"
#include "lab/language/report/figures.h"
#include "lab/language/report/groups.h"
#include "lab/language/report/paper_numbers.h"
#include "lab/language/settings.h"
#include "lab/report/format.h"
#include "lab/report/layer_ratios.h"
#include "lab/report/part_tables.h"

namespace trasmuon::lab {
namespace {

const std::vector<NumberColumn> kColumns = {{kFinalLoss, "validation loss"},
                                            {kStepsToTarget, "steps to target"},
                                            {"final_loss", "training loss, end"},
                                            {"update_rms", "update RMS", false},
                                            {"lr", "lr", false},
                                            {"spikes", "spikes", false},
                                            {"triggered_settled", "trigger fires", false},
                                            {"damped_settled", "columns damped", false},
                                            {"items_per_second", "tokens/s", false},
                                            {"optimizer_share", "optimizer's share", false}};
constexpr std::size_t kMainColumns = 2;  // that a sweep shows

const std::map<std::string, std::string> kCaptions = {
    {"shared", "every method at the shared learning rate"},
    {"no-warmup", "the same without warm-up"},
    {"variants", "readings of TrasMuon: the paper's, the release's, the guarded one, own history as reference"},
    {"sweep", "every method at multiples of its own learning rate"},
    {"matched-rms", "learning rates fitted to one RMS of an update"},
    {"nesterov", "with and without Nesterov momentum, at the shared learning rate"},
    {"nesterov-sweep", "with Nesterov momentum, at multiples of each rule's own learning rate"},
    {"iteration", "fewer Newton-Schulz steps, and coefficients made for them"},
    {"controls", "TrasMuon's damping in its own columns, in others (permuted), and as its mean"}};

void add_paper_table(const LanguageGroups& groups, Document& document) {
  const Json target = groups.setting("target_loss");
  Table table{
      fmt::format("Steps to training loss {} (smoothed), shared learning rate; the paper's are of Qwen3-0.6B to 7.0",
                  target.is_number() ? plain(target) : "?"),
      {{"method", false}, {"warm-up: ours"}, {"paper"}, {"no warm-up: ours"}, {"paper"}},
      {}};
  for (const std::string& method : groups.methods("shared")) {
    std::vector<TableCell> row{{method_label(method)}};
    for (const bool warmup : {true, false}) {
      const auto paper = paper_steps(method, warmup);
      row.push_back(number_cell(spread_of(values_of(steps_to_target(groups.shared(method, warmup))))));
      row.push_back({paper ? plain(*paper) : "–"});
    }
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

/// Each method at its best rate; the choice and the number are of the same seeds here, unlike in the comparisons.
void add_sweep_table(const LanguageGroups& groups, Document& document) {
  Table table{"Each method at the best of its learning rates",
              {{"method", false}, {"rates tried"}, {"best lr"}, {"validation loss"}, {"update RMS"}, {"seeds"}},
              {}};
  for (const std::string& method : groups.methods("sweep")) {
    const auto sweep = groups.sweep(method);
    const SeedGroup* best = best_of(sweep, kFinalLoss);
    if (best == nullptr) continue;
    table.rows.push_back({{method_label(method)},
                          {std::to_string(sweep.size())},
                          {plain(spread_of(best, "lr").median)},
                          number_cell(spread_of(best, kFinalLoss)),
                          {human(spread_of(best, "update_rms").median)},
                          {std::to_string(best->runs.size())}});
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

void add_comparisons(const LanguageComparisons& comparisons, Document& document) {
  Table table{"All comparisons: TrasMuon against another, less is better",
              {{"runs", false},
               {"against", false},
               {"quantity", false},
               {"TrasMuon"},
               {"other"},
               {"ratio, seed by seed", false},
               {"lower in"},
               {"so TrasMuon is", false}},
              {}};
  for (const LanguageComparison& c : comparisons.all()) {
    table.rows.push_back({{c.where},
                          {method_label(c.baseline)},
                          {c.quantity},
                          {human(c.ours.median)},
                          {human(c.theirs.median)},
                          {effect_text(c)},
                          {fmt::format("{} of {}", c.effect.pairing.lower, c.effect.seeds)},
                          {conclusion(c)}});
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

std::string setup_text(const LanguageGroups& groups) {
  const Json settings = [&] {
    for (const SeedGroup& group : groups.runs().groups)
      if (!group.runs.empty()) return group.runs.front().spec.settings;
    return Json::object();
  }();
  if (settings.empty()) return "No run is finished.";
  const auto s = settings_from<LanguageSettings>(settings, "language");
  const double tokens = static_cast<double>(s.training.batch) * s.sequence;
  return fmt::format(
      "{} with {:.1f} M parameters learns the text in {} from scratch: {} steps of {:.0f} tokens ({} sequences of {}). "
      "Hidden matrices are trained by the method's rule; embeddings, norms and biases by AdamW at lr {} in all runs. "
      "Validation loss is in nats per token, over {} sequences at the end.",
      s.model, static_cast<double>(parameter_count(model_config(s))) / 1e6,
      s.data.empty() ? "Perl's manual (package perl-doc)" : s.data, s.training.steps, tokens, s.training.batch,
      s.sequence, plain(s.training.other_lr), s.eval_sequences);
}

}  // namespace

void report_language(const RunSet& runs, Document& document, Gnuplot& gnuplot) {
  const LanguageGroups groups(runs);
  const LanguageComparisons comparisons(groups);
  document.add(Paragraph{setup_text(groups)});
  document.add(Heading{2, "In short"});
  Table claims = language_claims(groups, comparisons);
  if (!claims.rows.empty()) document.add(std::move(claims));
  document.add(Bullets{language_findings(groups, comparisons)});
  document.add(
      Paragraph{std::string(kPairedRule) +
                fmt::format(" About equal: the interval lies within a factor of 1.02 for perplexities, 1.25 for steps. "
                            "With fewer than {} "
                            "seeds no difference is denied. "
                            "Each at its best rate: of each seed the run at the rate that is best for the other seeds.",
                            kFewSeeds)});

  document.add(Heading{2, "Results"});
  add_paper_table(groups, document);
  illustrate(language_curves(groups), document, gnuplot);
  add_sweep_table(groups, document);
  illustrate(language_sweep(groups), document, gnuplot);
  illustrate(language_ratios(groups), document, gnuplot);
  if (const SeedGroup* group = groups.shared("trasmuon", true)) add_layer_ratios(*group, document);
  add_comparisons(comparisons, document);

  document.add(Heading{2, "Everything that was run"});
  add_part_tables(runs, kColumns, kMainColumns, kCaptions, document);

  document.add(Heading{2, "What this cannot show"});
  document.add(Bullets{
      {"The paper leaves the optimizers' other settings, what trains the embeddings, the tokenizer and the definition "
       "of "
       "the smoothed loss open; the recipe's choices are ours. Smoothing is an exponential average over the steps with "
       "the weight `smoothing` on the past.",
       "The paper's numbers are of one seed and a model of 0.6 B parameters; smaller models and other text need not "
       "behave like it.",
       "Rates are tuned in steps of a factor, so a method may be better between two of them."}});
}

}  // namespace trasmuon::lab
