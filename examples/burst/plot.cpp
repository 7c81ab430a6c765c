// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include "report.h"

extern char** environ;

namespace burst {
namespace {

// Colours: Okabe and Ito's, which the colour-blind can tell apart.
constexpr const char* kScript = R"(
set datafile separator ','
set terminal pngcairo size 1600,1000 font 'DejaVu Sans,13' background '#ffffff'
set output 'burst_demo.png'

array colour[8] = ['#999999', '#E69F00', '#CC79A7', '#56B4E9', '#0072B2', '#000000', '#009E73', '#D55E00']
array dash[8] = [1, 1, 1, 1, 2, 3, 1, 1]
array width[8] = [2, 2, 2, 2, 2, 2, 2, 3]
do for [i = 1:8] { set linetype i linecolor rgb colour[i] dashtype dash[i] linewidth width[i] }
in(bursts, i) = (column(1) == bursts && strcol(2) eq name[i])

set border 3 linecolor rgb '#444444'
set tics nomirror out textcolor rgb '#222222'
set grid y linecolor rgb '#cccccc' linewidth 1
set title font ',15' offset 0,-0.4
set multiplot

# An empty plot as wide as the picture holds the legend.
set label 1 headline at screen 0.5,0.972 center font ',18'
set lmargin at screen 0.01; set rmargin at screen 0.99; set tmargin at screen 0.955; set bmargin at screen 0.905
unset border; unset tics
set key center center horizontal maxrows 1 Left reverse samplen 2 width -1
plot [0:1][0:1] for [i = 1:8] NaN with lines linetype i title name[i]
unset label 1; unset key
set border 3; set xtics nomirror; set ytics nomirror

# The losses share their axes, so that the panels can be compared.
set tmargin at screen 0.85; set bmargin at screen 0.495
set lmargin at screen 0.06; set rmargin at screen 0.49
set logscale y; set format y '10^{%T}'; set yrange [5e2:6e9]; set ylabel 'loss'
set xrange [0:steps]; set xlabel 'step' offset 0,0.4
set title 'with bursts'
plot for [i = 1:8] 'curves.csv' using 3:(in(1, i) ? $5 : NaN) with lines linetype i notitle
set lmargin at screen 0.555; set rmargin at screen 0.985
set title 'the same without bursts'
plot for [i = 1:8] 'curves.csv' using 3:(in(0, i) ? $5 : NaN) with lines linetype i notitle

# One burst, close up.
set tmargin at screen 0.385; set bmargin at screen 0.07
set lmargin at screen 0.06; set rmargin at screen 0.49
set xrange [-4:5]; set xtics 1; set xlabel 'steps from the burst'
set arrow 1 from 0, graph 0 to 0, graph 1 nohead back linecolor rgb '#dddddd' linewidth 8
unset logscale y; set format y '%g'; set yrange [*:*]; set ylabel 'loss / loss before the burst'
set title 'around a burst: the loss, 90 % quantile over the bursts'
plot for [i = 1:8] 'events.csv' using 3:(in(1, i) ? $5 : NaN) with linespoints linetype i pointtype 7 pointsize 0.7 notitle

set lmargin at screen 0.555; set rmargin at screen 0.93
set border 11
set yrange [0:1.05]; set ylabel 'damping c of the hit column' textcolor rgb colour[8]
set logscale y2; set format y2 '10^{%T}'; set y2range [1:1e9]; set y2tics
set y2label 'r_{max}, largest energy / reference' textcolor rgb colour[5]
set title 'around a burst: how clip-sf answers, median'
set key at graph 0.98,0.54 right top vertical maxrows 4 Left reverse samplen 2.5 width 0
plot 'events.csv' using 3:(in(1, 8) ? $7 : NaN) with linespoints linetype 8 pointtype 7 title 'c, bursts', \
     '' using 3:(in(0, 8) ? $7 : NaN) with lines linetype 8 linewidth 2 dashtype 3 title 'c, no bursts', \
     '' using 3:(in(1, 8) ? $6 : NaN) axes x1y2 with linespoints linetype 5 dashtype 1 pointtype 5 title 'r_{max}, bursts', \
     '' using 3:(in(0, 8) ? $6 : NaN) axes x1y2 with lines linetype 5 linewidth 2 dashtype 3 title 'r_{max}, no bursts'
unset multiplot
)";

void write_script(const Study& study, const std::filesystem::path& path) {
  std::ofstream file(path);
  file << "# Drawn from curves.csv and events.csv beside it: gnuplot plot.gp\n";
  file << "steps = " << study.steps << "\narray name[" << kMethodCount << "] = [";
  for (int method = 0; method < kMethodCount; ++method)
    file << (method ? ", '" : "'") << study.methods[method].name << "'";
  file << "]\nheadline = 'Every " << kBurstPeriod << " steps one momentum column is multiplied by " << kBurstFactor
       << ", for that step only (loss: median of " << study.seeds << " seeds)'\n"
       << kScript;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

/// Inside gnuplot's single quotes a quote is written twice.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

}  // namespace

bool write_plot(const Study& study, const std::filesystem::path& folder) {
  write_script(study, folder / "plot.gp");
  // Without a shell, so that a folder's name cannot be misread.
  std::string program = "gnuplot", option = "-e", change = "cd " + quoted(folder.string()), script = "plot.gp";
  char* arguments[] = {program.data(), option.data(), change.data(), script.data(), nullptr};
  pid_t child = 0;
  const int failure = posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ);
  if (failure == ENOENT) return false;
  int status = failure;
  if (failure != 0 || waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error("gnuplot could not draw " + (folder / "plot.gp").string());
  }
  return true;
}

}  // namespace burst
