// SPDX-License-Identifier: Apache-2.0
#include "cuda/report.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "checkpoint/json_text.h"
#include "cuda/timing.h"
#include "trasmuon/error.h"
#include "trasmuon/version.h"

namespace trasmuon::bench {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// A member of an object, after the members before it.
void add_member(std::string& members, const std::string& indent, const std::string& name, const std::string& value) {
  members += (members.empty() ? "" : ",") + ("\n" + indent) + to_json(name) + ": " + value;
}

}  // namespace

CudaReport::CudaReport(std::string path, const std::string& command, const CudaCeilings& ceilings)
    : path_(std::move(path)) {
  cudaDeviceProp card{};
  int runtime = 0;
  check_cuda(cudaGetDeviceProperties(&card, 0));
  check_cuda(cudaRuntimeGetVersion(&runtime));
  const std::string cuda = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
  std::string limits;
  add_member(limits, "  ", "bf16 product, TFLOP/s", number(ceilings.bf16_product));
  add_member(limits, "  ", "f16 product, TFLOP/s", number(ceilings.f16_product));
  add_member(limits, "  ", "copy, TB/s", number(ceilings.copy));
  add_member(head_, " ", "card", to_json(std::string(card.name)));
  add_member(head_, " ", "torch", "null");
  add_member(head_, " ", "cuda", to_json(cuda));
  add_member(head_, " ", "command", to_json(command));
  add_member(head_, " ", "ceilings", "{" + limits + "\n }");
  std::printf("%s, CUDA %s, trasmuon %s\n", card.name, cuda.c_str(), TRASMUON_VERSION);
  std::printf("ceilings: bf16 product %.0f TFLOP/s, f16 product %.0f TFLOP/s, copy %.2f TB/s\n", ceilings.bf16_product,
              ceilings.f16_product, ceilings.copy);
}

void CudaReport::begin(const std::string& name, double floor) {
  entries_.push_back({name, floor, {}});
  std::printf("%s, floor %.3f ms\n", name.c_str(), floor);
}

void CudaReport::add(const std::string& name, const Samples& milliseconds, const std::string& note) {
  const Row row{name, milliseconds.median(), milliseconds.min()};
  entries_.back().rows.push_back(row);
  std::printf("  %-48s %9.3f ms (%.3f)   %s\n", name.c_str(), row.median, row.min, note.c_str());
  std::fflush(stdout);
  if (!path_.empty()) write();
}

void CudaReport::write() const {
  std::string models;
  for (const Entry& entry : entries_) {
    std::string rows;
    add_member(rows, "   ", "floor", number(entry.floor));
    for (const Row& row : entry.rows)
      add_member(rows, "   ", row.name, "[" + number(row.median) + ", " + number(row.min) + "]");
    add_member(models, "  ", entry.name, "{" + rows + "\n  }");
  }
  std::string members = head_;
  add_member(members, " ", "milliseconds, median and minimum", "{" + models + "\n }");
  std::ofstream file(path_);
  file << "{" << members << "\n}\n";
  file.close();
  if (!file) throw Error("cannot write '" + path_ + "'");
}

}  // namespace trasmuon::bench
