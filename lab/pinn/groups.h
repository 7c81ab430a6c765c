// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/groups.h"

namespace trasmuon::lab {

/// Finds the groups that the report needs. The recipe's parts are "table", "no-events", "lr-sweep" and "matched-rms".
class PinnGroups {
 public:
  explicit PinnGroups(const RunSet& runs) : runs_(runs) {}

  const RunSet& runs() const { return runs_; }
  const SeedGroup* at(const std::string& part, const std::string& method) const {
    return find_group(runs_, part, method);
  }
  const SeedGroup* table(const std::string& method) const { return at("table", method); }
  std::vector<std::string> methods(const std::string& part) const;  ///< that the part has, in the recipe's order
  std::vector<const SeedGroup*> sweep(const std::string& method) const {
    return find_groups(runs_, "lr-sweep", method);
  }
  std::string sweep_axis() const;                           ///< "lr_scale" or "lr"
  const SeedGroup* tuned(const std::string& method) const;  ///< lowest median final error of the sweep
  double first_event() const;                               ///< NaN if there is no run to read it from

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
EventEffect event_effect(const PinnGroups& groups, const std::string& baseline);

/// Median of the loss on uniform steps from the first event on, by seed; infinity if the run diverged.
BySeed loss_after_events(const SeedGroup* group);

}  // namespace trasmuon::lab
