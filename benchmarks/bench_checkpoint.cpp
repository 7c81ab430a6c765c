// SPDX-License-Identifier: Apache-2.0
//
//   bench_checkpoint [FOLDER]    times saving and loading many small parameters, and refusing hostile headers
//
// Prints seconds and the peak of resident memory, which only grows from line to line.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "trasmuon/trasmuon.h"

namespace {

using namespace trasmuon;

template <class Action>
void time(const std::string& what, Action action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%-44s %9.3f s  peak %6ld MiB\n", what.c_str(), seconds.count(), usage.ru_maxrss / 1024);
  std::fflush(stdout);
}

void time_model(const std::string& what, const Options& options, const Shape& shape, std::size_t count,
                const std::string& path) {
  const auto elements = static_cast<std::size_t>(shape.elements());
  std::vector<float> weights(count * elements);
  Group group{options, {}};
  for (std::size_t i = 0; i < count; ++i) {
    group.parameters.push_back(
        {.name = "block." + std::to_string(i) + ".weight",
         .weight = {.data = weights.data() + i * elements, .dtype = DType::f32, .shape = shape}});
  }
  Optimizer optimizer({std::move(group)});
  time(what + ": save", [&] { save_checkpoint(optimizer, path); });
  time(what + ": load", [&] { load_checkpoint(optimizer, path); });
  time(what + ": all names looked up", [&] {
    for (std::size_t i = 0; i < count; ++i) optimizer.index_of("block." + std::to_string(i) + ".weight");
  });
}

void time_refusal(const std::string& what, const std::string& header, const std::string& path) {
  {
    std::ofstream file(path, std::ios::binary);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header;
  }
  float weight = 0;
  Optimizer optimizer(
      {{AdamWOptions{}, {{.name = "w", .weight = {.data = &weight, .dtype = DType::f32, .shape = {1}}}}}});
  time(what, [&] {
    try {
      load_checkpoint(optimizer, path);
    } catch (const Error&) {
    }
  });
}

std::string repeated(const std::string& text, std::size_t bytes) {
  std::string all;
  while (all.size() < bytes) all += text;
  return all;
}

std::string many_tensors(std::size_t bytes) {
  std::string header = "{";
  for (std::size_t i = 0; header.size() < bytes; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"F32","shape":[],"data_offsets":[0,0]})";
  }
  return header + "}";
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
  const std::string path = folder / ("bench_checkpoint-" + std::to_string(::getpid()));
  time_refusal("2 MB of empty objects in a list", "[" + repeated("{},", 2'000'000) + "{}]", path);
  time_refusal("2 MB of tensors", many_tensors(2'000'000), path);
  time_model("4,000 matrices [4, 4] under TrasMuon", TrasMuonOptions{}, {4, 4}, 4000, path);
  time_model("20,000 vectors [4] under AdamW", AdamWOptions{}, {4}, 20000, path);
  time_refusal("100 MB of [", std::string(100'000'000, '['), path);
  time_refusal("100 MB of tensors", many_tensors(99'999'000), path);
  std::filesystem::remove(path);
}
