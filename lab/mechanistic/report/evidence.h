// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/mechanistic/closed_loop.h"
#include "lab/mechanistic/report/groups.h"
#include "lab/report/paired.h"

namespace trasmuon::lab {

/// What a comparison helps to decide.
enum class Question {
  effect,             ///< what does damping do, here and where the bases differ?
  bursts,             ///< must the gate meet the bursts?
  placebo,            ///< do gates that meet no burst differ among themselves? They should not.
  columns,            ///< must c act on the columns for which it was computed?
  step_size,          ///< does a smaller step do the same?
  orthogonalization,  ///< does a better orthogonalization do the same?
  others,             ///< do other rules do better?
  response,           ///< does c fall at bursts, more than at other times?
};

inline constexpr const char* kBlindControl = "c as if there were no bursts";

/// One quantity of two rows, paired by seed.
struct Outcome {
  double treated = 0, control = 0;  ///< medians
  PairedEffect effect;              ///< treated against control
};

/// Two rows that differ in one thing.
struct Contrast {
  std::string method;  ///< the damped method that it is about
  Question question;
  std::string treated, control;  ///< the rows in words
  Outcome spikes, loss;          ///< of Question::response, only `spikes` is used, for the share of steps
};

/// All comparisons of the report, corrected for their number together.
class Evidence {
 public:
  explicit Evidence(const MechanisticGroups& groups);

  const std::vector<Contrast>& all() const { return contrasts_; }
  std::size_t comparisons() const { return comparisons_; }
  std::vector<const Contrast*> of(const std::string& method, Question question) const;
  /// The contrast with these rows, or null.
  const Contrast* find(const std::string& method, Question question, const std::string& control) const;
  const ClosedLoop& closed_loop(const std::string& method) const;  ///< in the table; of the damped methods

 private:
  void add_method(const MechanisticGroups& groups, const std::string& method);
  void add_others(const MechanisticGroups& groups);
  void add_step_sizes(const MechanisticGroups& groups, const std::string& method);
  void add(const std::string& method, Question question, const std::string& treated, const std::string& control,
           const std::vector<const SeedGroup*>& treated_groups, const std::vector<const SeedGroup*>& control_groups);
  void add_advantage(const MechanisticGroups& groups, const std::string& method, const BasisPair& bases);
  void add_response(const std::string& method);

  std::vector<Contrast> contrasts_;
  std::map<std::string, ClosedLoop> loops_;
  std::size_t comparisons_ = 0;
};

/// A number of the summaries, ready for logarithms: spikes get half a spike more.
BySeed outcome_by_seed(const SeedGroup* group, const std::string& key);

std::vector<std::string> damped_methods(const MechanisticGroups& groups);  ///< those that have controls

}  // namespace trasmuon::lab
