// SPDX-License-Identifier: Apache-2.0
#include "lab/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lab/records/files.h"
#include "lab/records/provenance.h"

namespace trasmuon::lab {

namespace {

/// Seeds that were run, not planned.
std::string seeds_text(const RunSet& runs) {
  std::set<std::size_t> counts;
  for (const SeedGroup& group : runs.groups) counts.insert(group.runs.size());
  if (counts.empty()) return "no seeds";
  if (counts.size() == 1)
    return std::to_string(*counts.begin()) + (*counts.begin() == 1 ? " seed each" : " seeds each");
  return fmt::format("{} to {} seeds each", *counts.begin(), *counts.rbegin());
}

constexpr std::size_t kSeedsForSignificance = 6;  // 2 / 2^6 < 0.05

std::size_t most_seeds(const RunSet& runs) {
  std::size_t most = 0;
  for (const SeedGroup& group : runs.groups) most = std::max(most, group.runs.size());
  return most;
}

void add_damage(const RunSet& runs, Document& document) {
  if (runs.damaged.empty()) return;
  document.add(
      Notice{fmt::format("Left out because their records are damaged: {} run{}. The command at the end of the "
                         "report repeats them.",
                         runs.damaged.size(), runs.damaged.size() == 1 ? "" : "s")});
  document.add(Bullets{runs.damaged});
}

void add_header(const RunSet& runs, Document& document) {
  add_damage(runs, document);
  const std::size_t finished = runs.finished(), planned = runs.planned();
  if (finished < planned) {
    document.add(Notice{
        fmt::format("Unfinished: {} of {} results so far. Every number below is provisional. To continue, run the "
                    "command at the end of the report.",
                    finished, planned)});
  }
  if (const std::size_t seeds = most_seeds(runs); seeds > 0 && seeds < kSeedsForSignificance)
    document.add(Notice{
        fmt::format("{} seed{}: too few for a sign test to reach p = 0.05. Verdicts on directions are indications.",
                    seeds, seeds == 1 ? "" : "s")});
  std::string made_with;
  for (const Provenance& made : provenance_of(runs))
    made_with += fmt::format("{} {} run{} by {} on {}", made_with.empty() ? "" : ";", made.runs,
                             made.runs == 1 ? "" : "s", made.revision, made.machine);
  document.add(
      Paragraph{fmt::format("Recipe {} of the study {}: {} of {} results, {}. Made of{}.", runs.name, runs.study,
                            finished, planned, seeds_text(runs), made_with.empty() ? " nothing" : made_with)});
}

Document make_document(const RunSet& runs, const ReportBody& add_body, Gnuplot& gnuplot) {
  Document document{runs.title.empty() ? runs.name : runs.title, {}};
  add_header(runs, document);
  const std::size_t body = document.blocks.size();
  add_body(runs, document, gnuplot);
  if (!gnuplot.problem().empty())
    document.blocks.insert(document.blocks.begin() + static_cast<std::ptrdiff_t>(body), Notice{gnuplot.problem()});
  document.add(Heading{2, "How to repeat this"});
  document.add(Code{runs.command});
  document.add(
      Paragraph{"The same command continues where runs are missing. Every number here is computed from the runs' "
                "records: manifest.json, metrics.csv and summary.json in the folder of each run. Figures can be drawn "
                "again, or otherwise, from figures/*.gp and figures/*.dat."});
  return document;
}

}  // namespace

void write_report(const RunSet& runs, const ReportBody& add_body, const std::filesystem::path& folder) {
  Gnuplot gnuplot(folder / "figures");
  const Document document = make_document(runs, add_body, gnuplot);
  write_atomically(folder / "report.html", to_html(document));
  write_atomically(folder / "report.md", to_markdown(document));
}

}  // namespace trasmuon::lab
