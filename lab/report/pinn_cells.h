// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/cells.h"

namespace trasmuon::lab {

/// Where the PINN recipe's runs are: its parts are "table", "no-events", "lr-sweep" and "matched-rms".
class PinnCells {
 public:
  explicit PinnCells(const RunSet& runs) : runs_(runs) {}

  const RunSet& runs() const { return runs_; }
  const Cell* at(const std::string& part, const std::string& method) const { return find_cell(runs_, part, method); }
  const Cell* table(const std::string& method) const { return at("table", method); }
  std::vector<std::string> methods(const std::string& part) const;  ///< that have a cell there, in the recipe's order
  std::vector<const Cell*> sweep(const std::string& method) const { return find_cells(runs_, "lr-sweep", method); }
  std::string sweep_axis() const;                      ///< "lr_scale" or "lr"
  const Cell* tuned(const std::string& method) const;  ///< lowest median final error of the sweep
  double first_event() const;                          ///< NaN if no run tells

 private:
  const RunSet& runs_;
};

/// How much lower TrasMuon's final error is than another's, with events and without: the other's over TrasMuon's.
struct EventEffect {
  Spread with_events, without;
  Spread ratio;  ///< of the two, seed by seed
  Pairing pairing;
  bool known() const { return pairing.count() > 0; }
};
EventEffect event_effect(const PinnCells& cells, const std::string& baseline);

/// Median of the loss on uniform steps from the first event on, by seed; infinity if the run diverged.
BySeed loss_after_events(const Cell* cell);

}  // namespace trasmuon::lab
