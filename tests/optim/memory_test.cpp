// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "support/model.h"

namespace trasmuon {
namespace {

struct Model {
  std::vector<std::vector<float>> weights, gradients;
  std::vector<TensorView> views;
  std::vector<Parameter> parameters;

  Model(int layers, std::int64_t rows, std::int64_t cols) {
    std::mt19937_64 rng(71);
    for (int l = 0; l < layers; ++l) {
      weights.push_back(test::random_values<float>(rows * cols, rng));
      gradients.push_back(test::random_values<float>(rows * cols, rng));
      parameters.push_back({"w" + std::to_string(l), view(weights.back().data(), {rows, cols})});
      views.push_back(view(gradients.back().data(), {rows, cols}));
    }
  }
};

TEST(Memory, StateIsFourBytesPerParameterPlusVectors) {
  Model model(1, 512, 384);
  const Optimizer optimizer({{TrasMuonOptions{}, model.parameters}});
  const std::size_t vectors = 512 * 4 + 384 * (4 + 4 + 8) + 4 * 8;
  EXPECT_EQ(optimizer.state_bytes(), 512u * 384u * 4u + vectors);
}

TEST(Memory, WorkspaceIsBoundedByTheLargestMatrixNotByTheModel) {
  auto workspace = [](int layers, std::int64_t rows, std::int64_t cols) {
    Model model(layers, rows, cols);
    Optimizer optimizer({{TrasMuonOptions{}, model.parameters}});
    optimizer.step(model.views);
    return optimizer.workspace_bytes();
  };
  const int before = num_threads();
  for (int threads : {1, 2, 4, 6}) {
    set_num_threads(threads);
    // Matrices stepped at the same time each need their own: four at most, whatever the threads.
    const auto at_once = static_cast<std::size_t>(threads > 4 ? 1 : threads);
    EXPECT_LE(workspace(12, 320, 640), at_once * workspace(1, 320, 640)) << threads;
    EXPECT_EQ(workspace(12, 320, 640), workspace(24, 320, 640)) << threads;
  }
  set_num_threads(before);
  // O, the look-ahead, a second iterate, four squares of the short side, packed panels and small vectors.
  EXPECT_LE(workspace(1, 320, 640), sizeof(float) * (3u * 320 * 640 + 4u * 320 * 320 + 300u * (320 + 640)) + 65536u);
}

TEST(Memory, AThinMatrixTakesAFewTimesItsOwnSizeOfScratch) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 100000}, {100000, 1}, {3, 50000}}) {
    for (const Options& rule : test::all_rules()) {
      Model model(1, rows, cols);
      Optimizer optimizer({{rule, model.parameters}}, {.diagnostics = true});
      optimizer.step(model.views);
      // Tiles of the product are up to 32 wide and read from panels that are filled up.
      EXPECT_LE(optimizer.workspace_bytes(), 20 * sizeof(float) * static_cast<std::size_t>(rows * cols))
          << rule_name(rule) << " " << rows << " x " << cols;
    }
  }
}

TEST(Memory, StateMayBeInTheCallersMemory) {
  Model model(2, 6, 9);
  Model copy = model;
  for (std::size_t i = 0; i < 2; ++i) copy.parameters[i].weight = view(copy.weights[i].data(), {6, 9});
  std::map<std::pair<std::size_t, std::string>, std::vector<double>> lent;  // double: aligned for every type
  auto provider = [&](std::size_t index, const StateSpec& spec) -> void* {
    auto& memory = lent[{index, spec.name}];
    memory.assign(static_cast<std::size_t>(spec.shape.elements()) + 1, -5.0);
    return memory.data();
  };
  Optimizer borrowing({{TrasMuonOptions{.lr = 0.1}, copy.parameters}}, {.state = provider});
  Optimizer owning({{TrasMuonOptions{.lr = 0.1}, model.parameters}});
  for (int step = 0; step < 4; ++step) {
    borrowing.step(model.views);
    owning.step(model.views);
  }
  EXPECT_EQ(copy.weights, model.weights);
  EXPECT_EQ(test::state_bytes(borrowing, 1), test::state_bytes(owning, 1));
  EXPECT_EQ(borrowing.state(0, "momentum").data, (lent[{0, "momentum"}].data()));
  EXPECT_EQ(lent.size(), 2u * 9u);
  auto nothing = [](std::size_t, const StateSpec&) -> void* { return nullptr; };
  EXPECT_EQ(test::error_of([&] {
              Optimizer({{MuonOptions{}, model.parameters}}, {.state = nothing});
            }),
            "parameter 'w0': the state callback returned no memory for 'momentum'");
}

TEST(Memory, AWeightMayMove) {
  Model model(1, 5, 8);
  Model other(1, 5, 8);
  Optimizer a({{MuonOptions{}, model.parameters}}), b({{MuonOptions{}, other.parameters}});
  a.step(model.views);
  b.step(model.views);
  std::vector<float> moved = other.weights[0];
  b.rebind_weight(0, moved.data());
  a.step(model.views);
  b.step(model.views);
  EXPECT_EQ(moved, model.weights[0]);
}

}  // namespace
}  // namespace trasmuon
