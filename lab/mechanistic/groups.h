// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/groups.h"

namespace trasmuon::lab {

/// Finds the groups that the report needs. The recipe's parts are "table", "no-bursts", "uniform", "lr-sweep",
/// "isotropic-b" and "isotropic-b-no-bursts".
class MechanisticGroups {
 public:
  explicit MechanisticGroups(const RunSet& runs);

  const RunSet& runs() const { return runs_; }
  double kappa() const { return kappa_; }  ///< of the tables: 1e4 if it was run, else the largest that was
  std::vector<double> kappas() const;
  std::vector<std::string> methods(const std::string& part) const;  ///< that the part has, in the recipe's order

  /// At kappa() and with the column basis kept, unless an argument says otherwise.
  const SeedGroup* at(const std::string& part, const std::string& method) const;
  const SeedGroup* table(const std::string& method, bool fix_v = true) const;
  std::vector<const SeedGroup*> part(const std::string& name) const;
  std::vector<const SeedGroup*> along_kappa(const std::string& method, bool fix_v) const;
  std::vector<const SeedGroup*> sweep(const std::string& method) const;  ///< by lr_scale

  const SeedGroup* uniform_c() const;                       ///< the damping's own mean on all columns
  const SeedGroup* smaller_step() const;                    ///< noclip at one smaller learning rate
  const SeedGroup* tuned(const std::string& method) const;  ///< lowest median final loss of the sweep
  bool at_edge(const std::string& method) const;            ///< whether tuned() is the first or last of the sweep

 private:
  Json main_point(bool fix_v = true) const;

  const RunSet& runs_;
  double kappa_ = 1e4;
};

/// How often the damping responded to a burst, over all events of the group's runs after its warm-up.
struct ClosedLoop {
  std::size_t events = 0;
  std::size_t energy_rises = 0;  ///< events with a larger r_max than in the step before
  std::size_t lowest_falls = 0;  ///< events with a smaller c_used_min, at the event or one step later
  std::size_t hit_falls = 0;     ///< events with a smaller c of the column hit
  double rise = 0;               ///< median of r_max over r_max before
  double lowest_before = 1, lowest_after = 1, hit_before = 1, hit_after = 1;  ///< medians
  bool in_most(std::size_t some) const { return events > 0 && 4 * some >= 3 * events; }
};
ClosedLoop closed_loop(const SeedGroup* group);

/// What the damping does to the final loss and to spikes, with bursts and without: noclip against clip-sf.
struct BurstEffect {
  Spread with_bursts, without;  ///< factors by which damping lowers the final loss, seed by seed
  Spread ratio;                 ///< of the two factors: above 1 if damping helps more under bursts
  Pairing pairing;              ///< log factors: lower = less without bursts
  double share = 0;             ///< log factor without bursts / log factor with: share of the gain that needs no burst
  Spread spikes_with, spikes_without;  ///< reduction of spikes, seed by seed
  bool known() const { return pairing.count() > 0; }
};
BurstEffect burst_effect(const MechanisticGroups& groups, const std::string& with_bursts = "table",
                         const std::string& without_bursts = "no-bursts");  ///< parts

}  // namespace trasmuon::lab
