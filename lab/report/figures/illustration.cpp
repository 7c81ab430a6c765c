// SPDX-License-Identifier: Apache-2.0
#include "lab/report/figures/illustration.h"

namespace trasmuon::lab {

void illustrate(const Illustration& illustration, Document& document, Gnuplot& gnuplot) {
  const Figure& figure = illustration.figure;
  bool empty = true;
  for (const Panel& panel : figure.panels) {
    for (const Line& line : panel.lines) empty = empty && line.x.empty();
    for (const Box& box : panel.boxes) empty = empty && box.values.empty();
  }
  if (!empty) document.add(Picture{figure.name, illustration.caption, gnuplot.draw(figure)});
}

}  // namespace trasmuon::lab
