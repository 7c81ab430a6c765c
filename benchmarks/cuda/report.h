// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cuda/ceilings.h"
#include "samples.h"

namespace trasmuon::bench {

/// The numbers of a run, printed and written as JSON: benchmarks/results/README.md has the fields.
class CudaReport {
 public:
  /// `path`: of the JSON file, or "" for none.
  CudaReport(std::string path, const std::string& command, const CudaCeilings& ceilings);

  void begin(const std::string& name, double floor);
  /// `note` is printed only. Writes the file, so that a run that is cut off leaves what it has measured.
  void add(const std::string& name, const Samples& milliseconds, const std::string& note);

 private:
  struct Row {
    std::string name;
    double median, min;
  };
  struct Entry {
    std::string name;
    double floor;
    std::vector<Row> rows;
  };
  void write() const;

  std::string path_, head_;
  std::vector<Entry> entries_;
};

}  // namespace trasmuon::bench
