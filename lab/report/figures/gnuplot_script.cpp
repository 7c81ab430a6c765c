// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lab/report/figures/axis_range.h"
#include "lab/report/figures/gnuplot.h"
#include "lab/report/format.h"
#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {

namespace {

// Pixels.
constexpr int kWidth = 960, kLeft = 92, kRight = 16, kGap = 100, kTitle = 34, kAxis = 56, kLegendRow = 24;
constexpr double kCharacter = 10.5;  // of the legend, as wide as gnuplot takes it to be

/// A line break would end the string or the comment.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

std::string in_quotes(const std::string& text) {
  std::string doubled;
  for (const char c : on_one_line(text)) doubled += c == '\'' ? "''" : std::string(1, c);
  return "'" + doubled + "'";
}

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.7g}", value) : "NaN"; }

/// Where a logarithmic axis is labelled: round numbers if it spans little, 1, 2 and 5, or powers of ten.
std::vector<double> log_places(double low, double high) {
  std::vector<double> places;
  if (high / low < 4) {
    const double magnitude = std::pow(10.0, std::floor(std::log10((high - low) / 4)));
    double step = magnitude;
    for (const double nice : {1.0, 2.0, 2.5, 5.0, 10.0})
      if (nice * magnitude <= (high - low) / 4) step = nice * magnitude;
    for (double k = std::ceil(low / step); k * step <= high; ++k) places.push_back(k * step);
    return places;
  }
  const double decades = std::log10(high / low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / 7)));
  for (int decade = static_cast<int>(std::floor(std::log10(low))); decade <= std::log10(high); ++decade) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double place = digit * std::pow(10.0, decade);
      const bool labelled = digit == 1 ? decade % every == 0 : decades < 2;
      if (labelled && place >= low && place <= high) places.push_back(place);
    }
  }
  return places;
}

/// `places`: where to label it, if that is known.
std::string log_axis(char axis, Extent range, std::vector<double> places = {}) {
  if (range.empty()) range = {1, 10};
  const double margin = std::max(1.05, std::pow(range.high / range.low, 0.04));
  const double low = range.low / margin, high = range.high * margin;
  if (places.empty()) places = log_places(low, high);
  std::vector<std::string> labels;
  for (const double place : places) labels.push_back(fmt::format("'{}' {:.7g}", plain(place), place));
  return fmt::format("set logscale {0}\nset {0}range [{1:.7g}:{2:.7g}]\nset {0}tics ({3})\n", axis, low, high,
                     fmt::join(labels, ", "));
}

/// The places of the lines' points, if few.
std::vector<double> sampled_places(const Panel& panel) {
  std::set<double> places;
  for (const Line& line : panel.lines) places.insert(line.x.begin(), line.x.end());
  return places.size() <= 8 ? std::vector<double>(places.begin(), places.end()) : std::vector<double>();
}

std::string linear_axis(char axis, const Extent& range) {
  if (range.empty()) return fmt::format("set {}range [0:1]\n", axis);
  const double size = std::max({range.high - range.low, 0.1 * std::abs(range.high), 1e-12});
  const double margin = axis == 'x' ? 0.02 : 0.06;
  // A scale that nearly reaches zero should show it.
  const bool from_zero = axis == 'y' && range.low >= 0 && range.low < 0.5 * range.high;
  return fmt::format("set {}range [{:.7g}:{:.7g}]\n", axis, from_zero ? 0 : range.low - margin * size,
                     range.high + margin * size);
}

std::string box_axis(const Panel& panel) {
  std::string places;
  for (std::size_t i = 0; i < panel.boxes.size(); ++i) {
    const Box& box = panel.boxes[i];
    const auto diverged =
        std::count_if(box.values.begin(), box.values.end(), [](double value) { return std::isinf(value); });
    std::string label = box.label;
    if (diverged > 0) label += fmt::format(" ({} diverged)", diverged);
    else if (is_outlier(panel, box)) label += fmt::format(" ({})", human(quantile(box.values, 0.5)));
    places += (i == 0 ? "" : ", ") + in_quotes(label) + fmt::format(" {}", i + 1);
  }
  return fmt::format("set xrange [0.4:{}.6]\nset xtics ({}) rotate by 32 right scale 0 offset 0.6,0.3\n",
                     panel.boxes.size(), places);
}

std::string axes(const Panel& panel) {
  std::string text = "unset logscale\nset xtics autofreq norotate scale 0.6 offset 0,0.5\nset ytics autofreq\n";
  text += panel.log_y ? log_axis('y', y_range(panel)) : linear_axis('y', y_range(panel));
  if (!panel.boxes.empty()) text += box_axis(panel);
  else text += panel.log_x ? log_axis('x', x_range(panel), sampled_places(panel)) : linear_axis('x', x_range(panel));
  text += "set title " + in_quotes(panel.title) + "\nset xlabel " + in_quotes(panel.x_label) + "\nset ylabel " +
          in_quotes(panel.y_label) + "\n";
  return text;
}

std::string decorations(const Panel& panel) {
  std::string text = "unset arrow\nunset object\n";
  for (const double marker : panel.markers)
    text +=
        fmt::format("set arrow from {0},graph 0 to {0},graph 1 nohead back lc rgb '#888888' dt 3\n", number(marker));
  if (panel.band) {
    text += fmt::format(
        "set object rectangle from graph 0,first {} to graph 1,first {} back fc rgb '#888888' fs solid 0.18 noborder\n"
        "set arrow from graph 0,first {} to graph 1,first {} nohead back lc rgb '#555555' dt 2\n",
        number(panel.band->low), number(panel.band->high), number(panel.band->middle), number(panel.band->middle));
  }
  return text;
}

std::string line_style(const Line& line) {
  return line.points ? fmt::format("linespoints lc rgb '{0}' dt {1} lw 2 pt {2} ps 0.7", line.style.color,
                                   line.style.dash, line.style.point)
                     : fmt::format("lines lc rgb '{}' dt {} lw 2", line.style.color, line.style.dash);
}

std::string plot_command(const Panel& panel, const std::string& data, int& index) {
  std::vector<std::string> bands, items;
  for (const Line& line : panel.lines) {
    const std::string source = fmt::format("{} index {}", in_quotes(data), index++);
    if (!line.low.empty())
      bands.push_back(fmt::format("{} using 1:3:4 with filledcurves fc rgb '{}' fs transparent solid 0.17 notitle",
                                  source, line.style.color));
    items.push_back(source + " using 1:2 with " + line_style(line) + " notitle");
  }
  for (const Box& box : panel.boxes) {
    const auto item = [&](const std::string& how) {
      items.push_back(
          fmt::format("{} index {} using {} lc rgb '{}' notitle", in_quotes(data), index, how, box.style.color));
    };
    item("1:2 with points pt 7 ps 0.3");
    ++index;
    item("1:2:3:4:5:(0.56) with candlesticks whiskerbars 0.4 fs transparent solid 0.25 border lw 1.5");
    item("($1-0.28):6:(0.56):(0) with vectors nohead lw 3");
    ++index;
  }
  bands.insert(bands.end(), items.begin(), items.end());
  if (bands.empty()) return "plot NaN notitle\n";
  return fmt::format("plot {}\n", fmt::join(bands, ", \\\n     "));
}

/// The lines' labels, each once.
std::vector<Line> legend_entries(const Figure& figure) {
  std::vector<Line> entries;
  std::set<std::string> seen;
  for (const Panel& panel : figure.panels)
    for (const Line& line : panel.lines)
      if (!line.label.empty() && seen.insert(line.label).second) entries.push_back(line);
  return entries;
}

int legend_columns(const std::vector<Line>& entries) {
  std::size_t longest = 0;
  for (const Line& entry : entries) longest = std::max(longest, entry.label.size());
  const int fitting = static_cast<int>((kWidth - 40) / (kCharacter * static_cast<double>(longest) + 75));
  return std::clamp(fitting, 1, std::max<int>(1, static_cast<int>(entries.size())));
}

std::string legend(const std::vector<Line>& entries, int height) {
  if (entries.empty()) return "";
  std::vector<std::string> items;
  for (const Line& entry : entries)
    items.push_back("NaN with " + line_style(entry) + " title " + in_quotes(entry.label));
  return fmt::format(
      "unset logscale\nunset arrow\nunset object\nunset border\nunset tics\nunset title\nunset xlabel\nunset ylabel\n"
      "set lmargin at screen 0.02\nset rmargin at screen 0.98\nset bmargin at screen 0\nset tmargin at screen 1\n"
      "set xrange [0:1]\nset yrange [0:1]\n"
      "set key at screen 0.5,screen {:.4f} center top horizontal Left reverse maxrows {} samplen 2.5 width 1\nplot "
      "{}\n",
      1 - 4.0 / height, (static_cast<int>(entries.size()) + legend_columns(entries) - 1) / legend_columns(entries),
      fmt::join(items, ", \\\n     "));
}

}  // namespace

std::string gnuplot_script(const Figure& figure) {
  const int count = static_cast<int>(figure.panels.size());
  const int columns = std::max(1, std::min(figure.columns, count)), rows = (count + columns - 1) / columns;
  const bool boxes =
      std::any_of(figure.panels.begin(), figure.panels.end(), [](const Panel& p) { return !p.boxes.empty(); });
  const int axis = kAxis + (boxes ? 34 : 0);
  const std::vector<Line> entries = legend_entries(figure);
  const int per_row = legend_columns(entries), all = static_cast<int>(entries.size());
  const int top = entries.empty() ? 0 : kLegendRow * ((all + per_row - 1) / per_row) + 6;
  const int row_height = kTitle + figure.panel_height + axis, height = top + rows * row_height;
  const double width = (kWidth - kLeft - kRight - (columns - 1) * kGap) / static_cast<double>(columns);

  std::string script = fmt::format(
      "# gnuplot {0}.gp draws {0}.svg from {0}.dat\n"
      "set terminal svg size {1},{2} dynamic noenhanced font 'Helvetica,Arial,sans-serif,14' background rgb 'white'\n"
      "set output '{0}.svg'\nset encoding utf8\nset multiplot\nunset key\nset border 3 lw 0.8\n"
      "set tics nomirror out scale 0.6\nset xtics offset 0,0.5\nset xlabel offset 0,0.9\nset title offset 0,-0.6\nset "
      "grid ytics back lc rgb '#dddddd' lw 0.8 dt 1\n",
      figure.name, kWidth, height);
  int index = 0;
  for (int i = 0; i < count; ++i) {
    const Panel& panel = figure.panels[static_cast<std::size_t>(i)];
    const double left = kLeft + (i % columns) * (width + kGap), above = top + (i / columns) * row_height + kTitle;
    script += fmt::format(
        "\nset lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset tmargin at screen {:.4f}\nset bmargin at "
        "screen {:.4f}\n",
        left / kWidth, (left + width) / kWidth, 1 - above / height, 1 - (above + figure.panel_height) / height);
    script += axes(panel) + decorations(panel) + plot_command(panel, figure.name + ".dat", index);
  }
  return script + "\n" + legend(entries, height) + "unset multiplot\n";
}

std::string gnuplot_data(const Figure& figure) {
  std::string text;
  for (const Panel& panel : figure.panels) {
    for (const Line& line : panel.lines) {
      text += on_one_line(
                  fmt::format("# {}: {}, {}, low, high ({})", panel.title, panel.x_label, panel.y_label, line.label)) +
              "\n";
      for (std::size_t i = 0; i < line.x.size(); ++i) {
        text += number(line.x[i]) + " " + number(line.y[i]);
        if (!line.low.empty()) text += " " + number(line.low[i]) + " " + number(line.high[i]);
        text += "\n";
      }
      text += line.x.empty() ? "NaN NaN NaN NaN\n\n\n" : "\n\n";
    }
    for (std::size_t i = 0; i < panel.boxes.size(); ++i) {
      const Box& box = panel.boxes[i];
      text += on_one_line(fmt::format("# {}: {}, single values", panel.title, box.label)) + "\n";
      std::size_t k = 0;
      for (const double value : box.values)  // beside one another, so that equal ones can be told apart
        text += fmt::format("{:.3f} {}\n", i + 1 + 0.2 * (static_cast<double>(k++ * 7 % 11) / 5 - 1), number(value));
      if (box.values.empty()) text += "NaN NaN\n";
      const auto q = [&](double p) { return number(quantile(box.values, p)); };
      text += fmt::format("\n\n# {}, low quartile, lowest, highest, high quartile, median\n{} {} {} {} {} {}\n\n\n",
                          on_one_line(panel.title + ": " + box.label), i + 1, q(0.25), q(0), q(1), q(0.75), q(0.5));
    }
  }
  return text;
}

}  // namespace trasmuon::lab
