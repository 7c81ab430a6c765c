// SPDX-License-Identifier: Apache-2.0
#include "lab/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lab/records/files.h"
#include "lab/report/cells.h"
#include "lab/report/study_reports.h"

namespace trasmuon::lab {

namespace {

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string seeds_text(const RunSet& runs) {
  std::set<std::size_t> counts;
  for (const Cell& cell : runs.cells) counts.insert(cell.planned);
  if (counts.empty()) return "no";
  if (counts.size() == 1) return std::to_string(*counts.begin());
  return fmt::format("{} to {}", *counts.begin(), *counts.rbegin());
}

constexpr std::size_t kSeedsForSignificance = 6;  // 2 / 2^6 < 0.05

std::size_t most_seeds(const RunSet& runs) {
  std::size_t most = 0;
  for (const Cell& cell : runs.cells) most = std::max(most, cell.planned);
  return most;
}

void add_header(const RunSet& runs, Document& document) {
  const Progress progress = progress_of(runs);
  if (progress.finished < progress.planned) {
    document.add(Notice{
        fmt::format("Unfinished: {} of {} results are there. Every number below is provisional. The command at the "
                    "end of the report continues.",
                    progress.finished, progress.planned)});
  }
  if (const std::size_t seeds = most_seeds(runs); seeds > 0 && seeds < kSeedsForSignificance)
    document.add(Notice{
        fmt::format("{} seed{}: too few for a sign test to reach p = 0.05. Verdicts on directions are indications.",
                    seeds, seeds == 1 ? "" : "s")});
  std::string machine;
  for (const auto& [key, value] : runs.machine.items()) machine += fmt::format("; {} {}", key, text_of(value));
  document.add(Paragraph{fmt::format("Recipe {} of the study {}: {} of {} results, {} seeds each. Made with{}.",
                                     runs.name, runs.study, progress.finished, progress.planned, seeds_text(runs),
                                     machine.empty() ? " unknown" : machine.substr(1))});
}

Document make_document(const RunSet& runs, Gnuplot& gnuplot) {
  Document document{runs.title.empty() ? runs.name : runs.title, {}};
  add_header(runs, document);
  const std::size_t body = document.blocks.size();
  if (runs.study == "mechanistic") report_mechanistic(runs, document, gnuplot);
  else if (runs.study == "pinn") report_pinn(runs, document, gnuplot);
  else report_any(runs, document);
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

void illustrate(const Illustration& illustration, Document& document, Gnuplot& gnuplot) {
  const Figure& figure = illustration.figure;
  bool empty = true;
  for (const Panel& panel : figure.panels) {
    for (const Line& line : panel.lines) empty = empty && line.x.empty();
    for (const Box& box : panel.boxes) empty = empty && box.values.empty();
  }
  if (!empty) document.add(Picture{figure.name, illustration.caption, gnuplot.draw(figure)});
}

void write_report(const RunSet& runs, const std::filesystem::path& folder) {
  Gnuplot gnuplot(folder / "figures");
  const Document document = make_document(runs, gnuplot);
  write_atomically(folder / "report.html", to_html(document));
  write_atomically(folder / "report.md", to_markdown(document));
}

}  // namespace trasmuon::lab
