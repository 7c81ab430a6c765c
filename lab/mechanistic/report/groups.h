// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {

/// The basis of B (V = I or Haar) and the columns in which bursts act (real or mixed).
struct BasisPair {
  const char *b_basis, *burst_basis;
};
inline constexpr BasisPair kKept = {"identity", "columns"};  ///< what the paper's table fix_V = true is compared with
inline constexpr BasisPair kMixed = {"random", "mixed"};     ///< likewise, fix_V = false
inline constexpr BasisPair kBasisPairs[] = {kKept, {"random", "columns"}, {"identity", "mixed"}, kMixed};
bool is_kept(const BasisPair& bases);
std::string bases_name(const BasisPair& bases);  ///< "V = I, bursts on columns"
std::string row_name(const std::string& method,
                     const BasisPair& bases);  ///< "noclip"; "noclip, V random, bursts on columns"

/// Finds the groups that the report needs by their parts in the recipe and their settings.
class MechanisticGroups {
 public:
  explicit MechanisticGroups(const RunSet& runs);

  const RunSet& runs() const { return runs_; }
  double kappa() const { return kappa_; }  ///< of the tables: 1e4 if it was run, else the largest that was
  std::vector<std::string> methods(const std::string& part) const;  ///< that the part has, in the recipe's order

  /// A group at kappa() and with the bases kKept, unless `settings` says otherwise; null if it has no finished run.
  const SeedGroup* at(const std::string& part, const std::string& method, const Json& settings = Json::object()) const;
  const SeedGroup* table(const std::string& method, const BasisPair& bases = kKept) const;
  std::vector<const SeedGroup*> sweep(const std::string& method) const;  ///< part "lr-sweep"

  /// A learning rate of the sweep, as a factor, chosen on the seeds of the part "tuning" that the sweep itself does not
  /// have: the lowest median of the late loss, or the one nearest to that of `target` at factor 1. Nothing without such
  /// seeds.
  std::optional<double> best_scale(const std::string& method) const;
  std::optional<double> matching_scale(const std::string& method, const std::string& target) const;
  bool at_edge(const std::string& method, double scale) const;  ///< the first or last of the sweep

 private:
  struct Tuned {
    double scale, loss;
  };
  std::vector<Tuned> tuning(const std::string& method) const;

  const RunSet& runs_;
  double kappa_ = 1e4;
};

}  // namespace trasmuon::lab
