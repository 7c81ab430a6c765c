// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <stdexcept>

#include "report.h"

namespace burst {
namespace {

std::ofstream create(const std::filesystem::path& path) {
  std::ofstream file(path);
  if (!file) throw std::runtime_error("cannot write " + path.string());
  file.precision(6);
  return file;
}

void close(std::ofstream& file, const std::filesystem::path& path) {
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

void write_curves(const Study& study, const std::filesystem::path& path) {
  std::ofstream file = create(path);
  file << "bursts,method,step,loss_q25,loss_median,loss_q75\n";
  for (const bool bursts : {true, false}) {
    for (int method = 0; method < kMethodCount; ++method) {
      for (int step = 0; step <= study.steps; ++step) {
        const auto losses = study.over_seeds(bursts, method, [&](const Trace& t) { return t.loss[step]; });
        file << bursts << ',' << study.methods[method].name << ',' << step << ',' << quantile(losses, 0.25) << ','
             << quantile(losses, 0.5) << ',' << quantile(losses, 0.75) << '\n';
      }
    }
  }
  close(file, path);
}

void write_events(const Study& study, const std::filesystem::path& path) {
  std::ofstream file = create(path);
  file << "bursts,method,offset,loss_ratio_median,loss_ratio_q90,r_max_median,c_hit_median\n";
  for (const bool bursts : {true, false}) {
    for (int method = 0; method < kMethodCount; ++method) {
      for (int offset = 1 - kBurstPeriod / 2; offset <= kBurstPeriod / 2; ++offset) {
        auto around = [&](auto value) { return study.over_bursts(bursts, method, value); };
        const auto ratio =
            around([&](const Trace& trace, int t) { return trace.loss[t + offset] / trace.loss[t - 1]; });
        const auto r_max = around([&](const Trace& trace, int t) { return trace.r_max[t + offset]; });
        const auto c_hit = around([&](const Trace& trace, int t) { return trace.c_hit[t + offset]; });
        file << bursts << ',' << study.methods[method].name << ',' << offset << ',' << quantile(ratio, 0.5) << ','
             << quantile(ratio, 0.9) << ',' << quantile(r_max, 0.5) << ',' << quantile(c_hit, 0.5) << '\n';
      }
    }
  }
  close(file, path);
}

void write_runs(const Study& study, const std::filesystem::path& path) {
  std::ofstream file = create(path);
  file << "bursts,method,seed,lr,spikes,final_loss,mean_c,update_rms\n";
  for (const bool bursts : {true, false}) {
    for (int method = 0; method < kMethodCount; ++method) {
      for (int seed = 0; seed < study.seeds; ++seed) {
        const Trace& trace = study.traces[bursts][method][seed];
        file << bursts << ',' << study.methods[method].name << ',' << seed + 1 << ',' << trace.lr << ',' << trace.spikes
             << ',' << trace.loss.back() << ',' << trace.mean_c << ',' << trace.update_rms << '\n';
      }
    }
  }
  close(file, path);
}

}  // namespace

void write_csv(const Study& study, const std::filesystem::path& folder) {
  write_curves(study, folder / "curves.csv");
  write_events(study, folder / "events.csv");
  write_runs(study, folder / "runs.csv");
}

}  // namespace burst
