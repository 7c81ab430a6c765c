// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/closed_loop.h"

#include <map>

#include "lab/report/figures/curves.h"

namespace trasmuon::lab {

namespace {

/// The mean over the offsets 1, 2, ... of one share.
BySeed mean_of_others(const std::vector<PhaseResponse>& phases, BySeed PhaseResponse::*share) {
  BySeed sums;
  std::map<std::uint64_t, int> counts;
  for (std::size_t offset = 1; offset < phases.size(); ++offset) {
    for (const auto& [seed, value] : phases[offset].*share) {
      sums[seed] += value;
      ++counts[seed];
    }
  }
  for (auto& [seed, sum] : sums) sum /= counts[seed];
  return sums;
}

}  // namespace

ClosedLoop::ClosedLoop(const SeedGroup* group) {
  if (group == nullptr || group->runs.empty()) return;
  const Json period = setting_of(*group, "burst_period"), warmup = setting_of(*group, "warmup");
  phases_.resize(period.is_number() ? period.get<std::size_t>() : 10);
  for (const RunRecord& run : group->runs) add_run(run, warmup.is_number() ? warmup.get<double>() : 0);
  rise_ = quantile(rises_, 0.5);
  hit_before_ = quantile(hits_before_, 0.5);
  hit_after_ = quantile(hits_after_, 0.5);
  lowest_before_ = quantile(lowests_before_, 0.5);
  lowest_after_ = quantile(lowests_after_, 0.5);
}

void ClosedLoop::add_run(const RunRecord& run, double warmup) {
  const auto metrics = read_table(run, "metrics");
  if (!metrics) return;
  const std::vector<double>&step = (*metrics)["step"], &r_max = (*metrics)["r_max"];
  const std::vector<double>&lowest = (*metrics)["c_used_min"], &hit = (*metrics)["c_hit"];
  const std::vector<std::size_t> events = event_rows(*metrics);
  const std::size_t next_hit = phases_.size() - (phases_.size() - 1) / 2;  // c_hit is of the next burst from here on
  for (std::size_t offset = 0; offset < phases_.size(); ++offset) {
    std::size_t count = 0, rises = 0, lowest_falls = 0, hit_falls = 0;
    for (const std::size_t event : events) {
      const std::size_t row = event + offset;
      if (row < 2 || row >= step.size() || step[event] <= warmup) continue;
      ++count;
      rises += r_max[row] > r_max[row - 1];
      lowest_falls += lowest[row] < lowest[row - 1];
      hit_falls += hit[row] < hit[row - 1];
      if (offset > 0) continue;
      rises_.push_back(r_max[row] / r_max[row - 1]);
      hits_before_.push_back(hit[row - 1]);
      hits_after_.push_back(hit[row]);
      lowests_before_.push_back(lowest[row - 1]);
      lowests_after_.push_back(lowest[row]);
    }
    if (count == 0) continue;
    const auto share = [&](std::size_t some) {  // half a count more, so that it has a logarithm
      return (static_cast<double>(some) + 0.5) / (static_cast<double>(count) + 1);
    };
    phases_[offset].energy_rises[run.spec.seed] = share(rises);
    phases_[offset].lowest_falls[run.spec.seed] = share(lowest_falls);
    if (offset != next_hit) phases_[offset].hit_falls[run.spec.seed] = share(hit_falls);
    if (offset == 0) events_ += count;
  }
}

PhaseResponse ClosedLoop::placebo() const {
  return {mean_of_others(phases_, &PhaseResponse::energy_rises), mean_of_others(phases_, &PhaseResponse::lowest_falls),
          mean_of_others(phases_, &PhaseResponse::hit_falls)};
}

}  // namespace trasmuon::lab
