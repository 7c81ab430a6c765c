// SPDX-License-Identifier: Apache-2.0
// The adapter over NCCL, on the one rank that one GPU allows: ranks agree at construction, nothing travels in a step.
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "libtorch/net.h"
#include "libtorch/on_gpu.h"
#include "trasmuon/libtorch/distributed.h"

namespace trasmuon::libtorch {
namespace {

constexpr int kSteps = 20;

class LibtorchNccl : public LibtorchOnGpu {
 protected:
  static c10::intrusive_ptr<c10d::ProcessGroupNCCL> one_rank() {
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::HashStore>(), 0, 1);
  }

  static void train(Net& net, torch::optim::Optimizer& optimizer) {
    for (int step = 0; step < kSteps; ++step) {
      net.backward();
      optimizer.step();
    }
  }
};

TEST_F(LibtorchNccl, ReplicatedIsOneProcessBitForBit) {
  Net net, alone;
  net.to(torch::kCUDA);
  alone.to(torch::kCUDA);
  DistributedOptimizer optimizer(one_rank(), groups_for(net, TrasMuonOptions{}), TrasMuonOptions{});
  Optimizer reference(groups_for(alone, TrasMuonOptions{}), TrasMuonOptions{});
  train(net, optimizer);
  train(alone, reference);
  EXPECT_TRUE(same_bits(net.parameters(), alone.parameters()));
}

TEST_F(LibtorchNccl, RowsAreOneProcessUpToRounding) {
  Net net(torch::kFloat64), alone(torch::kFloat64);
  net.to(torch::kCUDA);
  alone.to(torch::kCUDA);
  std::vector<OptimizerParamGroup> groups = groups_for(net, TrasMuonOptions{});
  parameter_of(groups, "up_weight").shard = RowShard{0, net.up.size(0)};
  parameter_of(groups, "down_weight").shard = RowShard{0, net.down.size(0)};
  DistributedOptimizer optimizer(one_rank(), groups, TrasMuonOptions{});
  Optimizer reference(groups_for(alone, TrasMuonOptions{}), TrasMuonOptions{});
  train(net, optimizer);
  train(alone, reference);
  EXPECT_EQ(optimizer.applied(), kSteps);
  for (std::size_t i = 0; i < net.parameters().size(); ++i)
    EXPECT_TRUE(net.parameters()[i].allclose(alone.parameters()[i], 1e-9, 1e-10)) << i;
}

// What a step of more ranks does with the rows.
TEST_F(LibtorchNccl, BytesGoFromRankToRank) {
  const detail::Collectives group(one_rank());
  const torch::Tensor sent = torch::arange(100, torch::kCUDA).to(torch::kUInt8), received = torch::zeros_like(sent);
  group.all_to_all(received, sent, {100}, {100})->wait();
  EXPECT_TRUE(received.equal(sent));
}

}  // namespace
}  // namespace trasmuon::libtorch
