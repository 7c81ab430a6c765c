// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/report.h"

#include <fmt/format.h>

#include <map>

#include "lab/report/figures/figure.h"
#include "lab/report/figures/illustration.h"
#include "lab/report/format.h"
#include "lab/report/layer_ratios.h"
#include "lab/report/part_tables.h"
#include "lab/vision/report/claims.h"
#include "lab/vision/report/comparisons.h"
#include "lab/vision/report/figures.h"
#include "lab/vision/report/groups.h"

namespace trasmuon::lab {
namespace {

const std::vector<NumberColumn> kColumns = {
    {kValError, "test error"},   {"final_loss", "training loss"},     {"final_val_loss", "test loss", false},
    {"spikes", "spikes", false}, {"update_rms", "update RMS", false}, {"c_mean", "mean damping", false},
    {"lr", "lr", false}};
constexpr std::size_t kMainColumns = 2;  // that a sweep shows

const std::map<std::string, std::string> kCaptions = {
    {"shared", "the paper's comparison: one learning rate for all"},
    {"no-bursts", "the same without bursts"},
    {"controls", "damping of its own columns, of others (permuted), or the mean damping in all of them"},
    {"sweep", "factors on the learning rate of the hidden matrices"},
    {"matched-rms", "learning rates fitted to one RMS of an update"},
    {"nesterov", "plain and Nesterov momentum"}};

TableCell accuracy_cell(const SeedGroup* group) { return {accuracy_text(values_of(group, kValError))}; }

void add_accuracies(const VisionGroups& groups, Document& document) {
  const PaperTable paper = groups.paper_table();
  Table table{"Final top-1 accuracy on the test images, mean ± standard deviation over the seeds",
              {{"method", false},
               {groups.bursts() ? "with bursts" : "these runs"},
               {groups.bursts() ? "without bursts" : "without"},
               {fmt::format("paper, {}", name_of(paper))},
               {"training loss"},
               {"images/s"},
               {"optimizer's share"},
               {"seeds"}},
              {}};
  for (const std::string& method : groups.methods("shared")) {
    const SeedGroup* group = groups.at("shared", method);
    const auto printed = paper_accuracy(paper, method);
    table.rows.push_back({{method_label(method)},
                          accuracy_cell(group),
                          accuracy_cell(groups.at("no-bursts", method)),
                          {printed ? fmt::format("{:.2f} ± {:.2f} %", printed->mean, printed->deviation) : "–"},
                          number_cell(spread_of(group, "final_loss")),
                          {human(spread_of(group, "items_per_second").median)},
                          {human_percent(spread_of(group, "optimizer_share").median)},
                          {std::to_string(group->runs.size())}});
  }
  for (const char* damping : {"permuted", "mean"}) {
    const SeedGroup* group = groups.placebo(damping);
    if (group == nullptr) continue;
    table.rows.push_back({{side_label(damping)},
                          accuracy_cell(group),
                          {"–"},
                          {"–"},
                          number_cell(spread_of(group, "final_loss")),
                          {human(spread_of(group, "items_per_second").median)},
                          {human_percent(spread_of(group, "optimizer_share").median)},
                          {std::to_string(group->runs.size())}});
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

void add_comparisons(const VisionComparisons& comparisons, Document& document) {
  Table table{"All comparisons: final test error, less is better",
              {{"runs", false},
               {"method", false},
               {"against", false},
               {"its accuracy"},
               {"the other's"},
               {"ratio of the errors, seed by seed", false},
               {"lower in"},
               {"so its error is", false}},
              {}};
  for (const VisionComparison& c : comparisons.all()) {
    const bool shift = c.where == kBurstShift;
    const auto accuracy = [&](const std::vector<double>& errors) {
      return shift ? "ratio " + human(spread_of(errors).median) : accuracy_text(errors);
    };
    table.rows.push_back({{c.where},
                          {method_label(c.method)},
                          {side_label(c.baseline)},
                          {accuracy(c.ours)},
                          {accuracy(c.theirs)},
                          {c.effect.text()},
                          {fmt::format("{} of {}", c.effect.pairing.lower, c.effect.seeds)},
                          {shift && c.effect.clearly_lower() ? "better with bursts" : conclusion(c.effect)}});
  }
  if (!table.rows.empty()) document.add(std::move(table));
}

std::string what_was_run(const VisionGroups& groups) {
  const auto text = [&](const char* key) {
    const Json value = groups.setting(key);
    return value.is_string() ? value.get<std::string>() : value.is_number() ? plain(value.get<double>()) : "?";
  };
  std::string words = fmt::format("{} learns {} from random weights: {} steps of {} images. ", text("model"),
                                  text("data"), text("steps"), text("batch"));
  if (groups.bursts())
    words += fmt::format(
        "Every {} steps from step {} on, {} columns of the gradient of every hidden matrix get a random vector of {} "
        "times the gradient's RMS{}; the same steps, columns and directions for every method and seed. ",
        text("burst_period"), text("burst_start"), text("burst_columns"), text("burst_size"),
        groups.setting("burst_relative") == true ? "" : " (absolute)");
  const Json images = groups.setting("eval_images");
  if (images.is_number() && images.get<double>() > 0)
    words += fmt::format("Accuracy is that on the first {} test images. ", text("eval_images"));
  return words +
         "Embeddings, norms, biases and the head are trained by one AdamW with the same settings in all runs, so that "
         "methods differ in the hidden matrices alone. Test images are those that the data set keeps apart; nothing "
         "was "
         "chosen by them but the learning rates of the sweep.";
}

}  // namespace

void report_vision(const RunSet& runs, Document& document, Gnuplot& gnuplot) {
  const VisionGroups groups(runs);
  const VisionComparisons comparisons(groups);
  document.add(Heading{2, "In short"});
  Table claims = vision_claims(groups, comparisons);
  if (!claims.rows.empty()) document.add(std::move(claims));
  const std::vector<std::string> findings = vision_findings(groups);
  if (!findings.empty()) document.add(Bullets{findings});
  document.add(Paragraph{std::string(kPairedRule) + " Indicated: lower in 3/4 of the seeds. " +
                         fmt::format("With fewer than {} seeds no difference is denied.", kFewSeeds)});

  document.add(Heading{2, "Results"});
  document.add(Paragraph{what_was_run(groups)});
  add_accuracies(groups, document);
  illustrate(vision_curves(groups), document, gnuplot);
  illustrate(vision_accuracy(groups), document, gnuplot);
  illustrate(vision_sweep(groups), document, gnuplot);
  illustrate(vision_ratios(groups), document, gnuplot);
  if (const SeedGroup* calm = groups.calm("trasmuon")) add_layer_ratios(*calm, document);
  add_comparisons(comparisons, document);

  document.add(Heading{2, "Everything that was run"});
  add_part_tables(runs, kColumns, kMainColumns, kCaptions, document);

  document.add(Heading{2, "What this cannot show"});
  document.add(Bullets{
      {"The paper leaves the size of its CIFAR-100 transformer, the schedule, the augmentation, and the number, period "
       "and "
       "size of the bursts open; the recipe's choices are ours, and other numbers than the paper's follow from them.",
       "Times are of this machine, with other runs beside them on a CPU; only ratios within a report mean something.",
       "Seeds vary the start and the order of the images together. Bursts are the same in all seeds."}});
}

}  // namespace trasmuon::lab
