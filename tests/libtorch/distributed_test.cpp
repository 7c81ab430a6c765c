// SPDX-License-Identifier: Apache-2.0
// Optimizers over real processes, with Gloo on loopback.
#include "trasmuon/libtorch/distributed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "libtorch/net.h"
#include "libtorch/rank_processes.h"

namespace trasmuon::libtorch {
namespace {

using testing::HasSubstr;

/// The first row of rank r when `rows` are cut over `ranks` as unevenly as FSDP2 does: 10 over 4 are 3, 3, 3, 1.
std::int64_t first_row(std::int64_t rows, int r, int ranks) {
  return std::min<std::int64_t>(rows, r * ((rows + ranks - 1) / ranks));
}

/// A net of which this rank holds rows, trained with the gradients of the whole.
struct ShardedNet {
  ShardedNet(const Rank& self, const Options& rule) : whole(torch::kFloat64), groups(groups_for(whole, rule)) {
    for (OptimizerParamGroup& group : groups) {
      for (std::size_t i = 0; i < group.params().size(); ++i) {
        torch::Tensor& tensor = group.params()[i];
        all.push_back(tensor);
        if (tensor.dim() == 0) continue;
        const std::int64_t rows = tensor.size(0), first = first_row(rows, self.rank, self.ranks);
        const std::int64_t count = first_row(rows, self.rank + 1, self.ranks) - first;
        options_of(group).parameters[i].shard = RowShard{first, rows};
        tensor = tensor.detach().narrow(0, first, count).clone();
      }
      for (const torch::Tensor& tensor : group.params()) here.push_back(tensor);
    }
  }

  void backward() {
    whole.backward();
    for (std::size_t i = 0; i < all.size(); ++i) here[i].mutable_grad() = part(i, all[i].grad());
  }
  torch::Tensor part(std::size_t i, const torch::Tensor& tensor) const {
    if (tensor.dim() == 0) return tensor;
    std::size_t k = i;
    for (const OptimizerParamGroup& group : groups) {
      if (k < group.params().size())
        return tensor.narrow(0, options_of(group).parameters[k].shard->first_row, here[i].size(0)).contiguous();
      k -= group.params().size();
    }
    throw Error("no such parameter");
  }

  Net whole;
  std::vector<OptimizerParamGroup> groups;
  std::vector<torch::Tensor> all, here;
};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Distributed, ReplicatedIsOneProcessBitForBit) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_ranks(ranks, [](Rank& self) {
      for (const torch::ScalarType type : {torch::kFloat32, torch::kBFloat16}) {
        for (const Options& rule : all_rules()) {
          SCOPED_TRACE(rule_name(rule));
          Net net(type), alone(type);
          const bool masters = type == torch::kBFloat16;
          DistributedOptimizer optimizer(self.group, groups_for(net, rule), rule,
                                         {.master_weights = masters, .bucket_bytes = 300});
          Optimizer reference(groups_for(alone, rule), rule, {.master_weights = masters});
          for (int step = 0; step < 200; ++step) {
            net.backward();
            alone.backward();
            optimizer.step();
            reference.step();
          }
          EXPECT_TRUE(same_bits(net.parameters(), alone.parameters()));
          EXPECT_EQ(optimizer.applied(), 200);
        }
      }
    });
  }
}

TEST(Distributed, ShardedIsOneProcessUpToRounding) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_ranks(ranks, [](Rank& self) {
      for (const Options& rule : all_rules()) {
        SCOPED_TRACE(rule_name(rule));
        ShardedNet net(self, rule);
        if (std::holds_alternative<DionOptions>(rule)) {
          EXPECT_THAT(error_of([&] { DistributedOptimizer(self.group, net.groups, rule); }),
                      HasSubstr("dion cannot step a matrix whose rows are sharded"));
          continue;
        }
        DistributedOptimizer optimizer(self.group, net.groups, rule);
        Optimizer reference(groups_for(net.whole, rule), rule);
        for (int step = 0; step < 200; ++step) {
          net.backward();
          optimizer.step();
          reference.step();
        }
        for (std::size_t i = 0; i < net.here.size(); ++i)
          EXPECT_TRUE(net.here[i].allclose(net.part(i, net.all[i].detach()), 1e-10, 1e-12)) << "parameter " << i;
      }
    });
  }
}

TEST(Distributed, StateIsSavedWholeAndLoadedByOtherNumbersOfRanks) {
  const std::string file = testing::TempDir() + "/distributed_state.pt";
  const Options rule = TrasMuonOptions{.lr = 0.01};
  run_ranks(3, [&](Rank& self) {
    ShardedNet sharded(self, rule);
    Net net(torch::kFloat64);
    DistributedOptimizer by_rows(self.group, sharded.groups, rule), copies_of(self.group, groups_for(net, rule), rule);
    Optimizer reference(groups_for(sharded.whole, rule), rule);
    for (int step = 0; step < 5; ++step) {
      sharded.backward();
      net.backward();
      by_rows.step();
      copies_of.step();
      reference.step();
    }
    for (DistributedOptimizer* saved : {&by_rows, &copies_of}) {
      torch::serialize::OutputArchive archive;
      saved->save(archive);
      std::stringstream stream;
      archive.save_to(stream);
      torch::serialize::InputArchive input;
      input.load_from(stream);
      // One process reads it, and so does the other layout.
      Net other(torch::kFloat64);
      Optimizer alone(groups_for(other, rule), rule);
      alone.load(input);
      for (std::size_t i = 0; i < alone.core().parameter_count(); ++i) {
        for (const auto& tensor : alone.core().state(i)) {
          const auto expected = reference.core().state(i, tensor.spec.name);
          const auto options = torch::TensorOptions(detail::scalar_type_of(tensor.spec.dtype));
          const torch::Tensor a = torch::from_blob(tensor.view.data, {tensor.spec.shape.elements()}, options);
          const torch::Tensor b = torch::from_blob(expected.data, {tensor.spec.shape.elements()}, options);
          EXPECT_TRUE(a.allclose(b, 1e-10, 1e-12)) << alone.core().parameter(i).name << " " << tensor.spec.name;
        }
      }
      DistributedOptimizer& target = saved == &by_rows ? copies_of : by_rows;
      stream.clear();
      stream.seekg(0);
      torch::serialize::InputArchive again;
      again.load_from(stream);
      target.load(again);
      if (self.rank == 0) archive.save_to(file);
    }
  });
  run_ranks(2, [&](Rank& self) {
    ShardedNet sharded(self, rule);
    DistributedOptimizer optimizer(self.group, sharded.groups, rule);
    torch::serialize::InputArchive archive;
    archive.load_from(file);
    optimizer.load(archive);
    torch::serialize::InputArchive other_rule;
    other_rule.load_from(file);
    ShardedNet muon(self, MuonOptions{});
    DistributedOptimizer wrong(self.group, muon.groups, MuonOptions{});
    EXPECT_THAT(error_of([&] { wrong.load(other_rule); }), HasSubstr("rule must be muon, got trasmuon"));
  });
  std::remove(file.c_str());
}

TEST(Distributed, RanksThatDifferAreToldWhere) {
  run_ranks(3, [](Rank& self) {
    const bool odd = self.rank == 2;
    Net net, doubles(odd ? torch::kFloat64 : torch::kFloat32);
    const auto refusal = [&](const Net& with, const Options& rule) {
      return error_of([&] { DistributedOptimizer(self.group, groups_for(with, rule), rule); });
    };
    const std::string rates = refusal(net, MuonOptions{.lr = odd ? 0.2 : 0.1});
    EXPECT_THAT(rates, HasSubstr("ranks 0 and 2 must agree"));
    EXPECT_THAT(rates, HasSubstr("lr = 0.1"));
    EXPECT_THAT(refusal(doubles, MuonOptions{}), HasSubstr("'up_weight' f64"));
    std::vector<torch::Tensor> order{net.up, net.down};
    if (odd) std::swap(order[0], order[1]);
    EXPECT_THAT(error_of([&] { DistributedOptimizer(self.group, {group(order, MuonOptions{})}); }),
                HasSubstr("[9, 12]"));
    std::vector<torch::Tensor> fewer{net.up};
    if (!odd) fewer.push_back(net.down);
    EXPECT_THAT(error_of([&] { DistributedOptimizer(self.group, {group(fewer, MuonOptions{})}); }),
                HasSubstr("ranks 0 and 2 must agree"));
    // One rank refuses: all hear why.
    EXPECT_THAT(
        error_of([&] { DistributedOptimizer(self.group, {group({odd ? net.up_bias : net.up}, MuonOptions{})}); }),
        HasSubstr("needs at least two dimensions"));
    // The group still works.
    DistributedOptimizer optimizer(self.group, groups_for(net, MuonOptions{}));
    net.backward();
    optimizer.step();
  });
}

/// The last rank is lost before step 3; the others end with an error that names it, and nothing changed.
void lose_a_rank(bool sharded, int signal) {
  run_ranks(
      3,
      [&](Rank& self) {
        const Options rule = TrasMuonOptions{.lr = 0.01};
        const DistributedOptions options{.store = self.store, .patience = std::chrono::milliseconds(1500)};
        Net net(torch::kFloat64);
        ShardedNet rows(self, rule);
        DistributedOptimizer optimizer(self.group, sharded ? rows.groups : groups_for(net, rule), rule, options);
        const auto backward = [&] { sharded ? rows.backward() : net.backward(); };
        for (int step = 0; step < 2; ++step) {
          backward();
          optimizer.step();
        }
        if (self.rank == 2) raise(signal);
        backward();
        const std::vector<torch::Tensor>& weights = sharded ? rows.here : net.parameters();
        std::vector<torch::Tensor> before = copies(weights), state_before, state;
        for (const auto& [key, item] : optimizer.state()) {
          for (const auto& [name, tensor] : static_cast<const ParamState&>(*item).tensors) state.push_back(tensor);
        }
        state_before = copies(state);
        const std::string error = error_of([&] { optimizer.step(); });
        EXPECT_THAT(error, HasSubstr("step 3: "));
        EXPECT_THAT(error, HasSubstr("failed on rank " + std::to_string(self.rank) + " of 3"));
        EXPECT_THAT(error, HasSubstr("from rank 2"));
        EXPECT_EQ(optimizer.applied(), 2);
        EXPECT_TRUE(same_bits(weights, before));
        EXPECT_TRUE(same_bits(state, state_before));
      },
      {2}, std::chrono::seconds(1));
}

TEST(Distributed, AKilledRankIsNamed) {
  lose_a_rank(false, SIGKILL);
  lose_a_rank(true, SIGKILL);
}

TEST(Distributed, AStoppedRankIsNamed) {
  lose_a_rank(false, SIGSTOP);
  lose_a_rank(true, SIGSTOP);
}

}  // namespace
}  // namespace trasmuon::libtorch
